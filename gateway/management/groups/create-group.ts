import { Type } from 'typebox';
import { CLUSTER_UNAVAILABLE } from '../cluster-access.ts';
import { API_BASE, defineManagementOperation } from '../operation.ts';
import { GroupName } from './group.ts';

export const createGroup = defineManagementOperation({
  id: 'createGroup',
  method: 'POST',
  path: `${API_BASE}/groups`,
  tag: 'groups',
  summary: 'Create a group',
  input: { body: Type.Object({ name: GroupName }) },
  success: { status: 201, body: Type.Object({ name: Type.String() }) },
  errors: {
    group_exists: { status: 409, message: 'there is already a group of this name: choose another one' },
    ...CLUSTER_UNAVAILABLE,
    invalid_group: {
      status: 400,
      message: 'in a cluster a group name has lower-case letters, digits and "-": choose another one',
    },
  },
  run: async ({ groups }, { body: { name } }) => {
    await groups.create(name);
    return { name };
  },
});
