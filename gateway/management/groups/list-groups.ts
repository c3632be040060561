import { Type } from 'typebox';
import { CLUSTER_UNAVAILABLE } from '../cluster-access.ts';
import { API_BASE, defineManagementOperation } from '../operation.ts';
import { Group, groupAnswer } from './group.ts';

export const listGroups = defineManagementOperation({
  id: 'listGroups',
  method: 'GET',
  path: `${API_BASE}/groups`,
  tag: 'groups',
  summary: 'List the groups',
  input: {},
  success: { status: 200, body: Type.Object({ groups: Type.Array(Group) }) },
  errors: { ...CLUSTER_UNAVAILABLE },
  run: async ({ groups }) => {
    const document = await groups.read();
    const byName = Object.entries(document.groups).toSorted(([a], [b]) => (a < b ? -1 : 1));
    return { groups: byName.map(([name, group]) => groupAnswer(name, group)) };
  },
});
