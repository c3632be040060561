import { Type, type Static } from 'typebox';
import { flag, text, texts } from '../../../contract/optional.ts';
import { RemoteServerEntry, ServerEntry } from './entries.ts';

/** Kinds of registries. */
export const SOURCE_TYPES = ['default', 'file', 'url', 'api'] as const;
export type SourceType = (typeof SOURCE_TYPES)[number];

/** Login of vmcp at a registry, as a public client. */
export const RegistryAuth = Type.Object(
  {
    issuer: Type.String({ minLength: 1, maxLength: 2048, description: 'Issuer of the OpenID provider.' }),
    client_id: Type.String({ minLength: 1, maxLength: 256, description: 'Client identifier at the provider.' }),
    audience: text('Audience of the tokens.', { maxLength: 2048 }),
    scopes: texts('Scopes to request. Defaults to `openid` and `offline_access`.', { maxItems: 64 }),
  },
  { title: 'RegistryAuth', description: 'Login of vmcp at a registry, as a public client with PKCE.' },
);
export type RegistryAuth = Static<typeof RegistryAuth>;

/** New settings of a registry. */
export const RegistryUpdate = Type.Object(
  {
    url: text('URL of a registry document.', { maxLength: 2048 }),
    api_url: text('Base URL of a server that speaks the MCP registry protocol.', { maxLength: 2048 }),
    local_path: text('Absolute path of a registry document on the machine of the server.', { maxLength: 4096 }),
    allow_private_ip: flag('Allow private and loopback addresses, and http.'),
    auth: Type.Optional(RegistryAuth),
  },
  { title: 'RegistryUpdate' },
);
export type RegistryUpdate = Static<typeof RegistryUpdate>;

/** Settings of a registry, as they are stored. */
export const RegistrySettings = Type.Object({
  type: Type.Enum([...SOURCE_TYPES]),
  /** URL or path; empty for the built-in registry. */
  location: Type.String(),
  allow_private_ip: Type.Boolean(),
  auth: Type.Optional(RegistryAuth),
});
export type RegistrySettings = Static<typeof RegistrySettings>;

export const BUILT_IN: RegistrySettings = { type: 'default', location: '', allow_private_ip: false };

/** Reason why a server or a skill of a registry cannot be used. */
export const EntryProblem = Type.Object({
  server: Type.String({ description: 'Name, or the place in its list where it has none.' }),
  reason: Type.String({ description: 'Reason why vmcp cannot use it.' }),
});
export type EntryProblem = Static<typeof EntryProblem>;

const summary = {
  name: Type.String({ description: 'Name of the registry.' }),
  version: Type.String({ description: 'Version of its content.' }),
  last_updated: Type.String({ description: 'Time of its last change, or of the last reading.' }),
  server_count: Type.Integer({
    description: 'Number of servers that run from an image. Remote servers are not counted.',
  }),
  type: Type.Enum([...SOURCE_TYPES], { description: 'Kind of the source.' }),
  source: Type.String({ description: 'URL or path; empty for the built-in registry.' }),
  auth_status: Type.Enum(['none', 'configured', 'authenticated'], {
    description: 'State of the login at the registry.',
  }),
  auth_type: Type.Enum(['', 'oauth'], { description: 'Kind of the login; empty without one.' }),
  auth_config: Type.Optional(RegistryAuth),
  problems: Type.Optional(
    Type.Array(EntryProblem, { description: 'Servers and skills of the registry that cannot be used.' }),
  ),
};

/** State of a registry without its entries. */
export const RegistrySummary = Type.Object(summary, { title: 'RegistrySummary', description: 'State of a registry.' });
export type RegistrySummary = Static<typeof RegistrySummary>;

/** State of a registry with its entries by name. */
export const RegistryDetail = Type.Object(
  {
    ...summary,
    registry: Type.Object(
      {
        version: summary.version,
        last_updated: summary.last_updated,
        servers: Type.Record(Type.String(), ServerEntry, { description: 'Servers that run from an image.' }),
        remote_servers: Type.Optional(
          Type.Record(Type.String(), RemoteServerEntry, { description: 'Servers that run elsewhere.' }),
        ),
      },
      { description: 'Content of the registry.' },
    ),
  },
  { title: 'RegistryDetails', description: 'State and content of a registry.' },
);
export type RegistryDetail = Static<typeof RegistryDetail>;
