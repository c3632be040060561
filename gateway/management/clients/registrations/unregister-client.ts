import { Type } from 'typebox';
import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { CLIENT_ERRORS, ClientType } from './client-shapes.ts';

export const unregisterClient = defineManagementOperation({
  id: 'unregisterClient',
  method: 'DELETE',
  path: `${API_BASE}/clients/{name}`,
  tag: 'clients',
  summary: 'Unregister a client',
  input: { path: Type.Object({ name: ClientType }) },
  success: { status: 204 },
  errors: { ...CLIENT_ERRORS, not_registered: { status: 404, message: 'the client is not registered' } },
  run: ({ clients }, { path: { name } }) => clients.unregisterOne(name),
});
