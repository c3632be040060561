import { Type, type Static } from 'typebox';
import { text, texts, whole } from '../../../contract/optional.ts';
import { EntryMetadata, EnvVar, Header, OAuthConfig, Provenance } from './entry-parts.ts';
import { PACKAGE_TEXT, packageOptions } from '../../../contract/package-options.ts';
import { PermissionProfile } from '../../../contract/container/permission-profile.ts';

const common = {
  name: text('Name in reverse-DNS form.'),
  title: text('Display name.'),
  description: Type.String({ description: 'Purpose of the server.' }),
  tier: Type.String({ description: '`Official` or `Community`.' }),
  status: Type.String({ description: '`Active` or `Deprecated`.' }),
  transport: Type.String({ description: '`stdio`, `sse` or `streamable-http`.' }),
  tools: Type.Array(Type.String(), { description: 'Names of its tools.' }),
  overview: text('Longer description in Markdown.'),
  repository_url: text('Source repository.'),
  tags: texts('Tags for search.'),
  env_vars: Type.Optional(Type.Array(EnvVar, { description: 'Environment variables.' })),
  metadata: Type.Optional(EntryMetadata),
  custom_metadata: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), { description: 'Metadata of the publisher.' }),
  ),
  proxy_port: whole('Port on which the server is exposed.'),
  variables: Type.Optional(
    Type.Array(Header, {
      description:
        'Values that `url_template`, `args` and `permissions` have in braces: `variables` of a new workload.',
    }),
  ),
};

/** Server that runs from a container image or a package. */
export const ServerEntry = Type.Object(
  {
    ...common,
    image: Type.String({ description: 'Container image, `npx://` or `uvx://` package.' }),
    args: texts('Arguments of the server.'),
    package: Type.Optional(Type.Object(packageOptions, { description: PACKAGE_TEXT })),
    container_tags: texts('Tags of the image.'),
    permissions: Type.Optional(PermissionProfile),
    provenance: Type.Optional(Provenance),
    target_port: whole('Port that the server listens on.'),
  },
  { title: 'RegistryServer', description: 'Server that runs from a container image or a package.' },
);
export type ServerEntry = Static<typeof ServerEntry>;

/** Server that runs elsewhere. */
export const RemoteServerEntry = Type.Object(
  {
    ...common,
    url: Type.String({ description: 'MCP endpoint, with the defaults of its variables.' }),
    url_template: text('MCP endpoint with its variables in braces, if it has some.'),
    headers: Type.Optional(Type.Array(Header, { description: 'Headers that the server reads.' })),
    oauth_config: Type.Optional(OAuthConfig),
  },
  { title: 'RemoteRegistryServer', description: 'Server that runs elsewhere.' },
);
export type RemoteServerEntry = Static<typeof RemoteServerEntry>;

/** All servers of a registry, each list sorted by name. */
export const ServerLists = Type.Object(
  {
    servers: Type.Array(ServerEntry, { description: 'Servers that run from an image, sorted by name.' }),
    remote_servers: Type.Optional(
      Type.Array(RemoteServerEntry, { description: 'Servers that run elsewhere, sorted by name.' }),
    ),
  },
  { title: 'RegistryServers' },
);
export type ServerLists = Static<typeof ServerLists>;

/** One server of a registry. */
export const ServerLookup = Type.Object(
  {
    server: Type.Optional(ServerEntry),
    remote_server: Type.Optional(RemoteServerEntry),
    is_remote: Type.Boolean({ description: 'True: `remote_server` is set. False: `server` is set.' }),
  },
  { title: 'RegistryServerLookup' },
);
export type ServerLookup = Static<typeof ServerLookup>;
