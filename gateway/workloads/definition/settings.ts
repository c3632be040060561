import { Type, type Static } from 'typebox';
import { flag, text, textMap, texts, whole } from '../../contract/optional.ts';
import { PACKAGE_TEXT, packageOptions } from '../../contract/package-options.ts';
import { PermissionProfile } from '../../contract/container.ts';

/** Name of a workload: no path tricks, and no more than a file name holds. */
export const WORKLOAD_NAME = '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$';

/** Transports of a server. */
export const TRANSPORTS = ['stdio', 'sse', 'streamable-http'] as const;
export const PROXY_MODES = ['sse', 'streamable-http'] as const;

export const SecretTarget = Type.Object(
  {
    name: Type.String({ minLength: 1, description: 'Name of the secret.' }),
    target: Type.String({ description: 'Environment variable that gets its value.' }),
  },
  { title: 'WorkloadSecret', description: 'Secret of the secrets provider, and its use.' },
);

/** Login at a remote server. */
const RemoteLogin = Type.Object(
  {
    issuer: text('Issuer of the tokens.'),
    authorize_url: text('Authorization endpoint.'),
    token_url: text('Token endpoint.'),
    client_id: text('Client identifier.'),
    client_secret: Type.Optional(SecretTarget),
    bearer_token: Type.Optional(SecretTarget),
    scopes: texts('Requested scopes.'),
    resource: text('Resource indicator (RFC 8707): an absolute URI without fragment.'),
    use_pkce: flag('Send a challenge (RFC 7636).'),
    skip_browser: flag('Print the login URL instead of opening a browser.'),
    callback_port: whole('Port of the redirect URI, 1024 to 65535.'),
    oauth_params: textMap('Additional parameters of the authorization request.'),
  },
  { title: 'RemoteLogin', description: 'Login at a remote server.' },
);

/** Login that a registry entry describes: without secrets of the user, and without decisions about their browser. */
export const EntryLogin = Type.Omit(RemoteLogin, ['client_secret', 'bearer_token', 'skip_browser']);
export type EntryLogin = Static<typeof EntryLogin>;

const Oidc = Type.Object(
  {
    issuer: text('Issuer of the tokens.'),
    audience: text('Expected audience.'),
    jwks_url: text('URL of the key set. Discovered when absent.'),
    introspection_url: text('Endpoint for opaque tokens (RFC 7662).'),
    client_id: text('Client identifier for introspection.'),
    client_secret: text('Client secret for introspection. It is stored as a secret and never returned.'),
    scopes: texts('Scopes that the metadata of the server lists.'),
  },
  { title: 'WorkloadOidc', description: 'Tokens that clients must send. Empty: no login.' },
);

const ToolOverride = Type.Object(
  {
    name: text('Advertised name of the tool.'),
    description: text('Advertised description of the tool.'),
  },
  { title: 'ToolOverride' },
);

const HeaderForward = Type.Object(
  {
    add_plaintext_headers: textMap('Header name to value.'),
    add_headers_from_secret: textMap('Header name to the name of the secret that holds its value.'),
  },
  { title: 'HeaderForward', description: 'Headers of every request to a remote server.' },
);

const Header = Type.Object(
  {
    name: Type.String({ description: 'Name of the header.' }),
    description: text('Meaning of the value.'),
    required: flag('Requests without it fail.'),
    default: text('Value when none is given.'),
    secret: flag('The value is a secret.'),
    choices: texts('Allowed values.'),
  },
  { title: 'WorkloadHeader' },
);

const RuntimeConfig = Type.Object(
  { builder_image: text('Base image of the build.'), additional_packages: texts('System packages of the image.') },
  { title: 'WorkloadBuild', description: 'Build of an image from a package. Not supported yet.' },
);

const settings = {
  image: text(
    'Container image, `npx://PACKAGE`, `uvx://PACKAGE` or `command://PROGRAM`. Required unless `url` is given.',
  ),
  url: text('MCP endpoint of a remote server.'),
  group: text('Group of the workload, which must exist. Defaults to `default`.'),
  transport: text(
    '`stdio`, `sse` or `streamable-http`. Defaults to `stdio` for images, `streamable-http` for remote servers.',
  ),
  proxy_mode: text('`sse` or `streamable-http` (default): transport through which clients reach a stdio server.'),
  host: text('Address of the listener. Defaults to 127.0.0.1.'),
  proxy_port: whole('Port of the listener. 0 keeps the port, or chooses a free one.'),
  target_port: whole('Port on which the server listens. 0 chooses one.'),
  cmd_arguments: texts('Arguments of the server.'),
  env_vars: textMap('Environment variables of the server.'),
  secrets: Type.Optional(
    Type.Array(SecretTarget, { description: 'Secrets that the server gets as environment variables.' }),
  ),
  volumes: texts('Mounts of a container, each `host:container[:ro]`.'),
  permission_profile: Type.Optional(PermissionProfile),
  network_isolation: flag('Limit the network access of a container to its permission profile.'),
  allow_container_gateway: flag('Allow an isolated container to connect to the container host.'),
  trust_proxy_headers: flag('Use X-Forwarded-* headers for the URLs of SSE endpoints.'),
  tools: texts('Advertised tools. Empty: all of them.'),
  tools_override: Type.Optional(
    Type.Record(Type.String(), ToolOverride, { description: 'Advertised names and descriptions, by original name.' }),
  ),
  oidc: Type.Optional(Oidc),
  oauth_config: Type.Optional(RemoteLogin),
  headers: Type.Optional(
    Type.Array(Header, { description: 'Headers that a remote server reads. For information only.' }),
  ),
  header_forward: Type.Optional(HeaderForward),
  authz_config: text(
    'Path of a file with Cedar policies, read when the workload starts. `authz_config_path` of an export.',
  ),
  runtime_config: Type.Optional(RuntimeConfig),
  package: Type.Optional(Type.Object(packageOptions, { description: PACKAGE_TEXT })),
};

/** Settings of a workload, as `edit` takes them. An absent member keeps the stored value; an empty one removes it. */
export const WorkloadSettings = Type.Object(settings, {
  title: 'WorkloadSettings',
  description: 'Settings of a workload.',
});
export type WorkloadSettings = Static<typeof WorkloadSettings>;

/** Settings of a new workload. */
export const NewWorkload = Type.Object(
  {
    name: Type.String({ description: 'Name of the workload: letters, digits, `.`, `_` and `-`, at most 100.' }),
    ...settings,
    registry: text('Registry with the entry `server`; together with `server`.'),
    server: text('Name of a server in the registry, whose settings are the defaults.'),
    variables: textMap('Values of the variables of the registry entry.'),
  },
  { description: 'Settings of a new workload.' },
);
export type NewWorkload = Static<typeof NewWorkload>;
