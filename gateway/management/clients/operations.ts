import { Type } from 'typebox';
import { CLUSTER_UNAVAILABLE } from '../cluster-access.ts';
import { API_BASE, operationsOn, type ManagementOperation } from '../operation.ts';
import { CLIENTS } from './clients.ts';

const operation = operationsOn('clients');

const ClientType = Type.Enum(
  CLIENTS.map(({ type }) => type),
  { title: 'ClientType', description: 'Type of the client.' },
);

const RegisteredClient = Type.Object(
  {
    name: ClientType,
    groups: Type.Optional(Type.Array(Type.String(), { description: 'Groups in which the client is registered.' })),
  },
  { title: 'RegisteredClient' },
);

const GroupNames = Type.Array(Type.String());

/** Errors of operations that write configuration files of clients. */
const CLIENT_ERRORS = {
  unsupported_client: { status: 400, message: 'the client type is not supported' },
  group_not_found: { status: 404, message: 'there is no such group: create it first' },
  client_file_unusable: { status: 500, message: 'the configuration file of the client cannot be read or written' },
  ...CLUSTER_UNAVAILABLE,
} as const;

const ENTRY_EXISTS = {
  entry_exists: { status: 409, message: 'the client has another entry of that name: remove it first' },
} as const;

const ClientStatus = Type.Object(
  {
    client_type: ClientType,
    installed: Type.Boolean({ description: 'True if the configuration folder of the client exists.' }),
    registered: Type.Boolean({ description: 'True if the client is registered, in any group or without one.' }),
    supports_skills: Type.Boolean({ description: 'True if skills can be installed for the client.' }),
  },
  { title: 'ClientStatus' },
);

/** Operations on clients, in the order of the documentation. To add an operation, add an entry. */
export const CLIENT_OPERATIONS: readonly ManagementOperation[] = [
  operation({
    id: 'registerClient',
    method: 'POST',
    path: `${API_BASE}/clients`,
    summary: 'Register a client',
    description:
      'Writes an entry for each running endpoint of the groups into the configuration file of the client. Without `groups`, registers it in the group `default`.',
    input: { body: Type.Object({ name: ClientType, groups: Type.Optional(GroupNames) }) },
    success: { status: 200, body: RegisteredClient },
    errors: { ...CLIENT_ERRORS, ...ENTRY_EXISTS },
    run: async ({ clients }, { body: { name, groups } }) => (await clients.register([name], groups))[0],
  }),
  operation({
    id: 'registerClients',
    method: 'POST',
    path: `${API_BASE}/clients/register`,
    summary: 'Register several clients',
    description: 'Registers all of them or, on an error, none.',
    input: { body: Type.Object({ names: Type.Array(ClientType, { minItems: 1 }), groups: Type.Optional(GroupNames) }) },
    success: { status: 200, body: Type.Array(RegisteredClient) },
    errors: { ...CLIENT_ERRORS, ...ENTRY_EXISTS },
    run: ({ clients }, { body: { names, groups } }) => clients.register(names, groups),
  }),
  operation({
    id: 'discoverClients',
    method: 'GET',
    path: `${API_BASE}/discovery/clients`,
    summary: 'List the status of every supported client',
    input: {},
    success: { status: 200, body: Type.Object({ clients: Type.Array(ClientStatus) }) },
    errors: CLUSTER_UNAVAILABLE,
    run: async ({ clients }) => ({ clients: await clients.statuses() }),
  }),
  operation({
    id: 'listClients',
    method: 'GET',
    path: `${API_BASE}/clients`,
    summary: 'List the registered clients',
    input: {},
    success: { status: 200, body: Type.Array(RegisteredClient) },
    errors: CLUSTER_UNAVAILABLE,
    run: ({ clients }) => clients.list(),
  }),
  operation({
    id: 'unregisterClients',
    method: 'POST',
    path: `${API_BASE}/clients/unregister`,
    summary: 'Unregister several clients',
    description:
      'Removes their entries from the configuration files. Without `groups`, unregisters them from every group.',
    input: { body: Type.Object({ names: Type.Array(ClientType, { minItems: 1 }), groups: Type.Optional(GroupNames) }) },
    success: { status: 204 },
    errors: CLIENT_ERRORS,
    run: ({ clients }, { body: { names, groups } }) => clients.unregister(names, groups),
  }),
  operation({
    id: 'unregisterClient',
    method: 'DELETE',
    path: `${API_BASE}/clients/{name}`,
    summary: 'Unregister a client',
    input: { path: Type.Object({ name: ClientType }) },
    success: { status: 204 },
    errors: { ...CLIENT_ERRORS, not_registered: { status: 404, message: 'the client is not registered' } },
    run: ({ clients }, { path: { name } }) => clients.unregisterOne(name),
  }),
  operation({
    id: 'unregisterClientFromGroup',
    method: 'DELETE',
    path: `${API_BASE}/clients/{name}/groups/{group}`,
    summary: 'Unregister a client from one group',
    input: { path: Type.Object({ name: ClientType, group: Type.String({ description: 'Name of the group.' }) }) },
    success: { status: 204 },
    errors: { ...CLIENT_ERRORS, not_registered: { status: 404, message: 'the client is not registered in the group' } },
    run: ({ clients }, { path: { name, group } }) => clients.unregisterOne(name, [group]),
  }),
];
