import { Type } from 'typebox';
import { CLUSTER_UNAVAILABLE } from '../../cluster-access.ts';
import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { ClientType } from './client-shapes.ts';

const ClientStatus = Type.Object(
  {
    client_type: ClientType,
    installed: Type.Boolean({ description: 'True if the configuration folder of the client exists.' }),
    registered: Type.Boolean({ description: 'True if the client is registered, in any group or without one.' }),
    supports_skills: Type.Boolean({ description: 'True if skills can be installed for the client.' }),
  },
  { title: 'ClientStatus' },
);

export const discoverClients = defineManagementOperation({
  id: 'discoverClients',
  method: 'GET',
  path: `${API_BASE}/discovery/clients`,
  tag: 'clients',
  summary: 'List the status of every supported client',
  input: {},
  success: { status: 200, body: Type.Object({ clients: Type.Array(ClientStatus) }) },
  errors: CLUSTER_UNAVAILABLE,
  run: async ({ clients }) => ({ clients: await clients.statuses() }),
});
