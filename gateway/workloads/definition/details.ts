import { Type, type Static } from 'typebox';
import { text } from '../../contract/optional.ts';
import { PermissionProfile } from '../../contract/container.ts';
import type { RunConfig } from '../../contract/run-config/run-config.ts';
import { readReference } from './run-config-of.ts';
import { WorkloadSettings } from './settings.ts';

/** Settings of a workload with all members; editing the workload with them changes nothing. */
export const WorkloadDetails = Type.Object(
  {
    name: Type.String({ description: 'Name of the workload.' }),
    ...Type.Required(
      Type.Pick(WorkloadSettings, [
        'image',
        'host',
        'transport',
        'proxy_mode',
        'proxy_port',
        'target_port',
        'cmd_arguments',
        'env_vars',
        'secrets',
        'volumes',
        'network_isolation',
        'trust_proxy_headers',
        'tools',
        'tools_override',
        'oidc',
        'oauth_config',
      ]),
    ).properties,
    authz_config: Type.String({ description: 'Always empty.' }),
    registry_server: text('Registry entry that gave the settings which the request left out.'),
    permission_profile: Type.Unsafe<PermissionProfile | null>({ ...PermissionProfile, type: ['object', 'null'] }),
    ...Type.Pick(WorkloadSettings, [
      'url',
      'group',
      'headers',
      'header_forward',
      'allow_container_gateway',
      'runtime_config',
      'package',
    ]).properties,
  },
  { title: 'WorkloadDetails', description: 'Settings of a workload, without secret values.' },
);
export type WorkloadDetails = Static<typeof WorkloadDetails>;

type Oidc = WorkloadDetails['oidc'];
type Login = WorkloadDetails['oauth_config'];

/** Returns the requested settings of a workload from its run configuration. They have no secret values. */
export function detailsOf(config: RunConfig): WorkloadDetails {
  const { header_forward: forward, runtime_config: runtime } = config;
  const headers = config.remote_auth_config?.headers ?? [];
  return {
    name: config.name ?? '',
    image: config.image ?? '',
    host: config.host ?? '',
    transport: config.transport ?? '',
    proxy_mode: config.proxy_mode ?? '',
    proxy_port: config.port ?? 0,
    target_port: config.target_port ?? 0,
    cmd_arguments: config.cmd_args ?? [],
    env_vars: config.env_vars ?? {},
    secrets: (config.secrets ?? []).flatMap((text) => readReference(text) ?? []),
    volumes: config.volumes ?? [],
    network_isolation: config.isolate_network ?? false,
    trust_proxy_headers: config.trust_proxy_headers ?? false,
    tools: config.tools_filter ?? [],
    tools_override: config.tools_override ?? {},
    oidc: oidcOf(config.oidc_config),
    oauth_config: loginOf(config.remote_auth_config),
    authz_config: '',
    permission_profile: config.permission_profile ?? null,
    ...(config.remote_url && { url: config.remote_url }),
    ...(config.group && { group: config.group }),
    ...(config.registry_server_name && { registry_server: config.registry_server_name }),
    ...(headers.length > 0 && { headers: headers.map((header) => ({ ...header, name: header.name ?? '' })) }),
    ...(forward && { header_forward: forward }),
    ...(config.allow_container_gateway && { allow_container_gateway: true }),
    ...(runtime && { runtime_config: runtime }),
    ...(config.package && { package: config.package }),
  };
}

/** Every member is present. The client secret is always empty; an edit with an empty one keeps it. */
const oidcOf = (oidc: RunConfig['oidc_config'] = {}): Oidc => ({
  issuer: oidc.issuer ?? '',
  audience: oidc.audience ?? '',
  jwks_url: oidc.jwksurl ?? '',
  introspection_url: oidc.introspectionURL ?? '',
  client_id: oidc.clientID ?? '',
  client_secret: '',
  scopes: oidc.scopes ?? [],
});

/** Only members with a value. Secrets are references. */
function loginOf(login: RunConfig['remote_auth_config'] = {}): Login {
  const { client_secret: secret, bearer_token: token, ...stored } = login;
  const members = {
    ...pick(stored, ['issuer', 'authorize_url', 'token_url', 'client_id', 'scopes', 'resource']),
    ...pick(stored, ['use_pkce', 'skip_browser', 'callback_port', 'oauth_params']),
    client_secret: secret === undefined ? undefined : readReference(secret),
    bearer_token: token === undefined ? undefined : readReference(token),
  };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

const pick = <T extends object, Key extends keyof T>(value: T, keys: readonly Key[]): Pick<T, Key> =>
  Object.fromEntries(keys.map((key) => [key, value[key]])) as Pick<T, Key>;
