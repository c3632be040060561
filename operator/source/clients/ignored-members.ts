import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';
import { placeholdersIn } from './placeholders.ts';
import { quoted } from './texts.ts';
import { TIMEOUT_MEMBERS } from './timeouts.ts';
import { FILTER_MEMBERS } from './tool-filter.ts';

/** Members for the working folder of a command, by client. */
const FOLDER_MEMBERS = ['cwd', 'working_directory', 'workingDirectory', 'workingDir'] as const;

/** Returns the working folder of a command, as it is written. */
export const folderIn = (value: JsonObject): unknown =>
  FOLDER_MEMBERS.map((name) => value[name]).find((folder) => folder !== undefined);

/** Members of a command line, which a URL does not have. */
const COMMAND_MEMBERS = ['args', 'env', 'environment', 'env_vars', 'env_keys', ...FOLDER_MEMBERS];
/** Members that hold the URL, by client. `httpUrl` of Gemini CLI is always streamable HTTP. */
export const ADDRESS_MEMBERS = ['url', 'serverUrl', 'httpUrl', 'uri', 'baseUrl', 'server_url'] as const;
/** Members of a URL, which a command line does not have. */
const URL_MEMBERS: readonly string[] = [
  ...ADDRESS_MEMBERS,
  ...['headers', 'http_headers', 'env_http_headers', 'requestInit'],
  ...['bearer_token_env_var', 'bearerTokenEnvVar', 'apiKey', 'api_key_env', 'api_key_header', 'api_key_format'],
];

/** Members that other files read, and those that only a client's display or its installer uses. */
const KNOWN: ReadonlySet<string> = new Set([
  ...['command', 'type', 'transport', 'transportType', 'disabled', 'enabled', 'isActive'],
  ...COMMAND_MEMBERS,
  ...URL_MEMBERS,
  ...TIMEOUT_MEMBERS,
  ...FILTER_MEMBERS,
  ...['name', 'title', 'description', 'displayName', 'display_name', 'serverName', 'faviconUrl', 'bundled'],
  ...['icon', 'iconPath', 'logo', 'note', 'comment', '$schema', 'author', 'provider', 'homepage'],
  ...['source', 'settings', 'gallery', 'version', 'id', 'instructions', 'category', 'tags'],
]);

const ASKS = 'your client asks before it calls these tools, until you allow them there under their names of vmcp';
const LOGIN = 'vmcp does not log in as a client does, but sends the credential of externalAuthConfigRef';
const CONNECTION =
  'vmcp connects by its own rules: a CA of your own belongs into caBundleRef, and a proxy into HTTPS_PROXY of its environment';
const START = 'vmcp starts every server with the gateway or at its first use';

/** Effects of leaving out a member. */
const EFFECTS: ReadonlyMap<string, string> = new Map([
  ...named(ASKS, 'alwaysAllow', 'autoApprove', 'auto_approve', 'autoApproveAll', 'trust', 'toolPermissions'),
  ...named(ASKS, 'default_tools_approval_mode', 'approval_mode', 'disabledAutoApproveTools'),
  ...named(
    LOGIN,
    'oauth',
    'auth',
    'authorization',
    'authProviderType',
    'auth_provider_type',
    'scopes',
    'oauth_resource',
  ),
  ...named(LOGIN, 'targetAudience', 'targetServiceAccount', 'oauthClientId', 'oauthScopes', 'client_id', 'clientId'),
  ...named(
    'vmcp runs no command for headers: write fixed headers into secrets.yaml, or set externalAuthConfigRef',
    'headersHelper',
  ),
  ...named(CONNECTION, 'requestOptions', 'verify', 'verifySsl', 'ssl_verify', 'rejectUnauthorized', 'insecure', 'tls'),
  ...named(CONNECTION, 'ca', 'caBundlePath', 'caFile', 'cert', 'clientCertificate', 'proxy', 'httpProxy', 'socket'),
  ...named(START, 'autoStart', 'start_on_launch', 'startOnLaunch', 'alwaysLoad', 'lazy', 'autoConnect'),
  ...named(
    'vmcp serves the other servers while this one fails: config.operational.failureHandling.partialFailureMode changes that',
    'required',
  ),
  ...named('vmcp does not restart a server when its files change', 'dev', 'watch'),
  ...named('vmcp starts every server on its own machine', 'remote'),
]);

function named(effect: string, ...names: readonly string[]): (readonly [string, string])[] {
  return names.map((name) => [name, effect] as const);
}

/** Members whose value `true` says what vmcp does anyway. */
const TRUE_IS_DEFAULT = [
  'autoStart',
  'start_on_launch',
  'startOnLaunch',
  'autoConnect',
  'verify',
  'verifySsl',
  'ssl_verify',
];

const COMMENT = /^(?:_|\/\/|#)/u;

/** Lists the members of a server that have no effect in vmcp, with what to do instead. `hasFolder` is true where its working folder has one. */
export function ignoredMembers(value: JsonObject, runs: 'here' | 'elsewhere', hasFolder = false): string[] {
  const foreign = runs === 'here' ? URL_MEMBERS : COMMAND_MEMBERS;
  return Object.entries(value).flatMap(([name, member]) => {
    if (isEmpty(member) || COMMENT.test(name)) return [];
    if (foreign.includes(name)) return foreignWarning(name, runs);
    if (FOLDER_MEMBERS.some((folder) => folder === name))
      return hasFolder ? [] : [`its ${name} is left out: write absolute paths into its args`];
    if (name === 'envFile' || name === 'env_file')
      return [`its ${name} is not read: add its variables to the Secret of the server`];
    const effect = EFFECTS.get(name);
    if (effect === undefined) return KNOWN.has(name) ? [] : [`its ${quoted(name)} is left out: vmcp does not know it`];
    const isDefault = member === TRUE_IS_DEFAULT.includes(name);
    return isDefault ? [] : [`its ${quoted(name)} is left out: ${effect}`];
  });
}

/** Warns about a member of the other kind of server. Variables of a URL get a warning of their own, which names them. */
function foreignWarning(name: string, runs: 'here' | 'elsewhere'): string[] {
  if (runs === 'here') return [`its ${quoted(name)} is left out: it belongs to a URL, and this server is a command`];
  return name === 'env' || name === 'environment'
    ? []
    : [`its ${quoted(name)} is left out: it belongs to a command, and this server is a URL`];
}

const isEmpty = (member: unknown): boolean =>
  member === '' ||
  (Array.isArray(member) && member.length === 0) ||
  (isObject(member) && Object.keys(member).length === 0);

/** Warns about variables of a server that vmcp calls itself, such as those for TLS. `headers` are the texts of its headers. */
export function unusedVariables(env: ReadonlyMap<string, string>, headers: readonly string[]): string[] {
  const used = new Set(headers.flatMap(placeholdersIn).map(({ variable = '' }) => variable));
  const names = [...env.keys()].filter((name) => !used.has(name));
  if (names.length === 0) return [];
  return [
    `${names.join(', ')} is left out, because vmcp calls the URL itself: a CA of your own belongs into caBundleRef`,
  ];
}
