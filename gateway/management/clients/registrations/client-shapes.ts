import { Type } from 'typebox';
import { CLUSTER_UNAVAILABLE } from '../../cluster-access.ts';
import { CLIENTS } from '../clients.ts';

export const ClientType = Type.Enum(
  CLIENTS.map(({ type }) => type),
  { title: 'ClientType', description: 'Type of the client.' },
);

export const RegisteredClient = Type.Object(
  {
    name: ClientType,
    groups: Type.Optional(Type.Array(Type.String(), { description: 'Groups in which the client is registered.' })),
  },
  { title: 'RegisteredClient' },
);

export const GroupNames = Type.Array(Type.String());

/** Errors of operations that write configuration files of clients. */
export const CLIENT_ERRORS = {
  unsupported_client: { status: 400, message: 'the client type is not supported' },
  group_not_found: { status: 404, message: 'there is no such group: create it first' },
  client_file_unusable: { status: 500, message: 'the configuration file of the client cannot be read or written' },
  ...CLUSTER_UNAVAILABLE,
} as const;

export const ENTRY_EXISTS = {
  entry_exists: { status: 409, message: 'the client has another entry of that name: remove it first' },
} as const;
