import { SCHEMA_VERSION, type RunConfig } from '../../contract/run-config/run-config.ts';
import { PROXY_MODES, TRANSPORTS, type WorkloadSettings } from './settings.ts';

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
type Draft = Mutable<RunConfig>;
type Login = NonNullable<RunConfig['remote_auth_config']>;

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_GROUP = 'default';
/** Secret of a remote login in a run configuration: `NAME,target=TARGET`. */
const reference = ({ name, target }: { readonly name: string; readonly target: string }): string =>
  `${name},target=${target}`;

/** Settings with the same name and shape in both documents, by their names in the run configuration. */
const SAME = {
  image: 'image',
  group: 'group',
  host: 'host',
  target_port: 'target_port',
  cmd_args: 'cmd_arguments',
  env_vars: 'env_vars',
  volumes: 'volumes',
  permission_profile: 'permission_profile',
  isolate_network: 'network_isolation',
  allow_container_gateway: 'allow_container_gateway',
  trust_proxy_headers: 'trust_proxy_headers',
  tools_filter: 'tools',
  tools_override: 'tools_override',
  header_forward: 'header_forward',
  runtime_config: 'runtime_config',
  package: 'package',
  authz_config_path: 'authz_config',
} as const satisfies Partial<Record<keyof RunConfig, keyof WorkloadSettings>>;

/** Returns true for '', 0, [], {} and objects of such values. */
function isEmpty(value: unknown): boolean {
  if (value === '' || value === 0) return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && value !== null && Object.values(value).every(isEmpty);
}

/** Returns true for '', 0, [] and {}. */
const hasNothing = (value: unknown): boolean =>
  isEmpty(value) && (typeof value !== 'object' || Object.keys(value as object).length === 0);

/** Returns true for an image that runs as a process of this machine instead of in a container. */
export const isPackage = (image: string): boolean => /^[a-z]+:\/\//u.test(image);

const runsInContainer = ({ image = '', remote_url: url = '' }: RunConfig): boolean =>
  url === '' && image !== '' && !isPackage(image);

/** States the isolation of a container, which is on by default: details and exports take an absent member for false. Pure. */
export const withIsolation = (config: RunConfig): RunConfig =>
  runsInContainer(config) && config.isolate_network === undefined ? { ...config, isolate_network: true } : config;

/**
 * Merges settings over a stored run configuration, or over the defaults of a new workload. An absent setting keeps the
 * stored value, an empty one removes it. Values are checked by `runConfigProblems`.
 */
export function runConfigOf(name: string, settings: WorkloadSettings, stored?: RunConfig): RunConfig {
  const draft: Draft = {
    ...sameMembers(stored ?? { schema_version: SCHEMA_VERSION }, settings, stored === undefined),
    name,
    base_name: name,
  };
  applyPlace(draft, settings);
  if (settings.network_isolation === false && runsInContainer(draft)) draft.isolate_network = false;
  applySecrets(draft, settings);
  applyOidc(draft, settings, stored);
  applyLogin(draft, settings);
  applyDefaults(draft, stored === undefined);
  return draft;
}

/**
 * Applies the settings that both documents have. The details of a workload never show the path of its policy, and show
 * false for an absent flag: to send them back changes nothing.
 */
function sameMembers(base: RunConfig, settings: WorkloadSettings, isNew: boolean): RunConfig {
  const given = Object.entries(SAME).flatMap(([member, setting]) => {
    const value: unknown = settings[setting];
    const isAbsent = value === undefined || (setting === 'authz_config' && value === '');
    const isDefault = value === false && !isNew && base[member as keyof RunConfig] === undefined;
    return isAbsent || isDefault ? [] : [[member, value] as const];
  });
  const removed = new Set(given.filter(([, value]) => hasNothing(value)).map(([member]) => member));
  const kept = Object.entries({ ...base, ...Object.fromEntries(given) }).filter(([member]) => !removed.has(member));
  return Object.fromEntries(kept) as RunConfig;
}

/** Sets where the server runs and where clients reach it. An image replaces a remote URL, and the reverse. */
function applyPlace(
  draft: Draft,
  { image, url, proxy_port: port, transport, proxy_mode: mode }: WorkloadSettings,
): void {
  if (url) {
    draft.remote_url = url;
    if (!image) delete draft.image;
  } else if (image) delete draft.remote_url;
  if (port) draft.port = port;
  if (transport) draft.transport = lowerCased(transport, TRANSPORTS);
  if (mode) draft.proxy_mode = lowerCased(mode, PROXY_MODES);
}

/** Accepts a known word in capitals too. */
const lowerCased = (word: string, known: readonly string[]): string =>
  known.find((each) => each.toUpperCase() === word) ?? word;

function applySecrets(draft: Draft, { secrets }: WorkloadSettings): void {
  if (secrets === undefined) return;
  if (secrets.length === 0) delete draft.secrets;
  else draft.secrets = secrets.map(reference);
}

/** The stored client secret stays while the issuer, the endpoint and the client that it belongs to stay. */
function applyOidc(draft: Draft, { oidc }: WorkloadSettings, stored: RunConfig | undefined): void {
  if (oidc === undefined) return;
  if (isEmpty(oidc)) {
    delete draft.oidc_config;
    return;
  }
  const { client_secret: secret, scopes, ...texts } = oidc;
  const before = stored?.oidc_config;
  const next = {
    ...before,
    issuer: texts.issuer,
    audience: texts.audience,
    jwksurl: texts.jwks_url,
    introspectionURL: texts.introspection_url,
    clientID: texts.client_id,
    scopes,
    clientSecret: secret,
  };
  const isSameClient =
    before?.issuer === next.issuer &&
    (before?.introspectionURL ?? '') === (next.introspectionURL ?? '') &&
    (before?.clientID ?? '') === (next.clientID ?? '');
  if (!secret && isSameClient) next.clientSecret = before?.clientSecret;
  draft.oidc_config = withoutEmpty(next);
}

/** Members of a login that the settings do not have, and that a change of the others keeps. */
const UNNAMED = ['headers', 'bearer_token_file', 'client_secret_file', 'scope_param_name', 'timeout'] as const;

function applyLogin(draft: Draft, { oauth_config: login, headers }: WorkloadSettings): void {
  if (headers !== undefined) draft.remote_auth_config = withoutEmpty({ ...draft.remote_auth_config, headers });
  const before = draft.remote_auth_config;
  if (login !== undefined) draft.remote_auth_config = mergedLogin(before ?? {}, login);
  if (isEmpty(draft.remote_auth_config ?? {})) delete draft.remote_auth_config;
}

/** Replaces the members of a login that the settings have. What is cached belongs to one issuer and client. */
function mergedLogin(before: Login, login: NonNullable<WorkloadSettings['oauth_config']>): Login {
  const { client_secret: secret, bearer_token: token, ...others } = login;
  const isSameClient =
    (before.issuer ?? '') === (login.issuer ?? '') && (before.client_id ?? '') === (login.client_id ?? '');
  const kept = Object.entries(before).filter(
    ([member]) => (UNNAMED as readonly string[]).includes(member) || (isSameClient && member.startsWith('cached_')),
  );
  return withoutEmpty({
    ...(Object.fromEntries(kept) as Login),
    ...others,
    client_secret: secret && !isEmpty(secret) ? reference(secret) : undefined,
    bearer_token: token && !isEmpty(token) ? reference(token) : undefined,
  });
}

function applyDefaults(draft: Draft, isNew: boolean): void {
  const isRemote = draft.remote_url !== undefined && draft.remote_url !== '';
  draft.transport ??= isRemote ? 'streamable-http' : 'stdio';
  draft.proxy_mode = effectiveMode(draft.transport, draft.proxy_mode);
  draft.host ??= DEFAULT_HOST;
  draft.group ??= DEFAULT_GROUP;
  if (isNew && runsInContainer(draft)) draft.isolate_network ??= true;
}

/** The mode of an HTTP server is its transport. A word that is no mode stays, so that it is rejected. */
function effectiveMode(transport: string, mode: string | undefined): string {
  if (mode !== undefined && !(PROXY_MODES as readonly string[]).includes(mode)) return mode;
  return transport === 'stdio' ? (mode ?? 'streamable-http') : transport;
}

const withoutEmpty = <T extends object>(value: T): { [Key in keyof T]: Exclude<T[Key], undefined> } =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined && !isEmpty(member))) as never;

/** Reads `NAME,target=TARGET`. Returns undefined for other text. */
export function readReference(text: string): { readonly name: string; readonly target: string } | undefined {
  const [, name, target] = /^([^,\s]+),target=([^,\s]+)$/u.exec(text) ?? [];
  return name === undefined || target === undefined ? undefined : { name, target };
}
