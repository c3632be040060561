import { Type, type Static } from 'typebox';
import { PermissionProfile } from '../../../contract/container.ts';
import { flag, text, textMap, texts, whole } from '../../../contract/optional.ts';
import { PACKAGE_TEXT, packageOptions } from '../../../contract/package-options.ts';

/** Environment variable that a server reads. */
export const EnvVar = Type.Object(
  {
    name: Type.String({ description: 'Name of the variable.' }),
    description: Type.String({ description: 'Meaning of the value.' }),
    required: Type.Boolean({ description: 'The server does not start without it.' }),
    default: text('Value when none is given.'),
    secret: flag('The value is a secret.'),
  },
  { title: 'RegistryVariable' },
);
export type EnvVar = Static<typeof EnvVar>;

/** Header that a remote server reads, or value in braces that a user gives. */
export const Header = Type.Object(
  {
    ...EnvVar.properties,
    name: Type.String({ description: 'Name of the header or the variable.' }),
    required: Type.Boolean({ description: 'The server does not work without it.' }),
    choices: texts('Allowed values.'),
  },
  { title: 'RegistryHeader' },
);
export type Header = Static<typeof Header>;

/** Settings for a login at a remote server. */
const OAuthConfig = Type.Object(
  {
    issuer: text('Issuer of the tokens.'),
    authorize_url: text('Authorization endpoint.'),
    token_url: text('Token endpoint.'),
    client_id: text('Client identifier.'),
    scopes: texts('Requested scopes.'),
    resource: text('Resource indicator.'),
    use_pkce: flag('Use PKCE.'),
    callback_port: whole('Port of the redirect URI.'),
    oauth_params: textMap('Additional parameters of the authorization request.'),
  },
  { title: 'RegistryServerLogin' },
);

/** Origin of a container image, as its signature proves it. */
const Provenance = Type.Object(
  {
    transparency_log_url: Type.String({ description: 'Transparency log of the signature.' }),
    repository_uri: Type.String({ description: 'Source repository.' }),
    repository_ref: text('Branch or tag of the source.'),
    signer_identity: Type.String({ description: 'Identity of the signer.' }),
    runner_environment: Type.String({ description: 'Environment of the build.' }),
    cert_issuer: Type.String({ description: 'Issuer of the certificate.' }),
    attestation: Type.Optional(
      Type.Object(
        { predicate_type: text('Type of the predicate.'), predicate: Type.Optional(Type.Unknown()) },
        { description: 'Attestation of the build.' },
      ),
    ),
  },
  { title: 'Provenance' },
);

/** Popularity and origin of an entry. */
const EntryMetadata = Type.Object(
  {
    stars: whole('Stars of the repository.'),
    last_updated: text('Time of the last update.'),
    cluster: Type.Optional(
      Type.Object(
        {
          kind: text('Kind of the object.'),
          namespace: text('Namespace of the object.'),
          name: text('Name of the object.'),
          uid: text('UID of the object.'),
          image: text('Image that runs.'),
          transport: text('Transport that is served.'),
        },
        { description: 'Object of a cluster that runs the server.' },
      ),
    ),
  },
  { title: 'RegistryServerMetadata' },
);

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
