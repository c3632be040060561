import { Type } from 'typebox';
import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { GROUP_NOT_FOUND, GroupPath } from '../group.ts';
import { groupOf } from '../groups.ts';

/** Operation as a contributor might add it: this file contains everything about it. */
export const repeatGroupName = defineManagementOperation({
  id: 'repeatGroupName',
  method: 'POST',
  path: `${API_BASE}/groups/{name}/repeat`,
  tag: 'groups',
  summary: 'Repeat the name of a group',
  input: { path: GroupPath, body: Type.Object({ times: Type.Integer({ minimum: 1, maximum: 3 }) }) },
  success: { status: 200, body: Type.Object({ text: Type.String() }) },
  errors: { group_not_found: GROUP_NOT_FOUND },
  run: async ({ groups }, { path: { name }, body: { times } }) => {
    groupOf(await groups.read(), name);
    return { text: name.repeat(times) };
  },
});
