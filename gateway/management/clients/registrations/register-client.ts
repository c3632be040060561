import { Type } from 'typebox';
import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { CLIENT_ERRORS, ClientType, ENTRY_EXISTS, GroupNames, RegisteredClient } from './client-shapes.ts';

export const registerClient = defineManagementOperation({
  id: 'registerClient',
  method: 'POST',
  path: `${API_BASE}/clients`,
  tag: 'clients',
  summary: 'Register a client',
  description:
    'Writes an entry for each running endpoint of the groups into the configuration file of the client. Without `groups`, registers it in the group `default`.',
  input: { body: Type.Object({ name: ClientType, groups: Type.Optional(GroupNames) }) },
  success: { status: 200, body: RegisteredClient },
  errors: { ...CLIENT_ERRORS, ...ENTRY_EXISTS },
  run: async ({ clients }, { body: { name, groups } }) => (await clients.register([name], groups))[0],
});
