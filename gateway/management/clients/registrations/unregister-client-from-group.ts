import { Type } from 'typebox';
import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { CLIENT_ERRORS, ClientType } from './client-shapes.ts';

export const unregisterClientFromGroup = defineManagementOperation({
  id: 'unregisterClientFromGroup',
  method: 'DELETE',
  path: `${API_BASE}/clients/{name}/groups/{group}`,
  tag: 'clients',
  summary: 'Unregister a client from one group',
  input: { path: Type.Object({ name: ClientType, group: Type.String({ description: 'Name of the group.' }) }) },
  success: { status: 204 },
  errors: { ...CLIENT_ERRORS, not_registered: { status: 404, message: 'the client is not registered in the group' } },
  run: ({ clients }, { path: { name, group } }) => clients.unregisterOne(name, [group]),
});
