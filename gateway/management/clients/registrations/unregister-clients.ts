import { Type } from 'typebox';
import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { CLIENT_ERRORS, ClientType, GroupNames } from './client-shapes.ts';

export const unregisterClients = defineManagementOperation({
  id: 'unregisterClients',
  method: 'POST',
  path: `${API_BASE}/clients/unregister`,
  tag: 'clients',
  summary: 'Unregister several clients',
  description:
    'Removes their entries from the configuration files. Without `groups`, unregisters them from every group.',
  input: { body: Type.Object({ names: Type.Array(ClientType, { minItems: 1 }), groups: Type.Optional(GroupNames) }) },
  success: { status: 204 },
  errors: CLIENT_ERRORS,
  run: ({ clients }, { body: { names, groups } }) => clients.unregister(names, groups),
});
