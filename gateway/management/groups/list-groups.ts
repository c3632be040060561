import { Type } from 'typebox';
import { API_BASE, defineManagementOperation } from '../operation.ts';
import { CLUSTER_UNAVAILABLE, Group, groupAnswer } from './group.ts';

export const listGroups = defineManagementOperation({
  id: 'listGroups',
  method: 'GET',
  path: `${API_BASE}/groups`,
  tag: 'groups',
  summary: 'List the groups',
  input: {},
  success: { status: 200, body: Type.Object({ groups: Type.Array(Group) }) },
  errors: { engine_unavailable: CLUSTER_UNAVAILABLE },
  run: async ({ groups }) => {
    const document = await groups.read();
    const byName = Object.entries(document.groups).toSorted(([a], [b]) => (a < b ? -1 : 1));
    return { groups: byName.map(([name, group]) => groupAnswer(name, group)) };
  },
});
