import { Type } from 'typebox';
import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { CLIENT_ERRORS, ClientType, ENTRY_EXISTS, GroupNames, RegisteredClient } from './client-shapes.ts';

export const registerClients = defineManagementOperation({
  id: 'registerClients',
  method: 'POST',
  path: `${API_BASE}/clients/register`,
  tag: 'clients',
  summary: 'Register several clients',
  description: 'Registers all of them or, on an error, none.',
  input: { body: Type.Object({ names: Type.Array(ClientType, { minItems: 1 }), groups: Type.Optional(GroupNames) }) },
  success: { status: 200, body: Type.Array(RegisteredClient) },
  errors: { ...CLIENT_ERRORS, ...ENTRY_EXISTS },
  run: ({ clients }, { body: { names, groups } }) => clients.register(names, groups),
});
