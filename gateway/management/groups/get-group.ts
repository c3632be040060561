import { CLUSTER_UNAVAILABLE } from '../cluster-access.ts';
import { API_BASE, defineManagementOperation } from '../operation.ts';
import { Group, GROUP_NOT_FOUND, groupAnswer, GroupPath } from './group.ts';
import { groupOf } from './groups.ts';

export const getGroup = defineManagementOperation({
  id: 'getGroup',
  method: 'GET',
  path: `${API_BASE}/groups/{name}`,
  tag: 'groups',
  summary: 'Get a group',
  input: { path: GroupPath },
  success: { status: 200, body: Group },
  errors: { group_not_found: GROUP_NOT_FOUND, ...CLUSTER_UNAVAILABLE },
  run: async ({ groups }, { path: { name } }) => groupAnswer(name, groupOf(await groups.read(), name)),
});
