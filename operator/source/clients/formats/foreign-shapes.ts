import { isObject, type JsonObject } from '../../../../gateway/contract/json.ts';

/** Server that only its client can run. */
export interface Unusable {
  readonly leftOut: string;
}

/** Types of extensions that Goose itself contains. */
const PARTS_OF_GOOSE = ['builtin', 'platform', 'frontend', 'inline_python'];

/**
 * Turns an extension of Goose (`cmd`, `envs`, `uri`, a timeout in seconds) into a server as most clients write it. The values
 * of `env_keys` are in the keyring of the user.
 */
export function gooseServer(extension: JsonObject): JsonObject | Unusable {
  const { config, ...outer } = extension;
  const {
    cmd,
    envs,
    env_keys: keys,
    uri,
    timeout,
    type,
    ...rest
  }: JsonObject = isObject(config) ? { ...outer, ...config } : extension;
  if (typeof type === 'string' && PARTS_OF_GOOSE.includes(type)) return { leftOut: 'it is a part of Goose itself' };
  const inKeyring = Array.isArray(keys) ? keys.map((key) => [String(key), `\${keyring:${String(key)}}`]) : [];
  const env = { ...(Object.fromEntries(inKeyring) as JsonObject), ...(isObject(envs) ? envs : {}) };
  return {
    ...rest,
    ...(typeof type === 'string' && { type }),
    ...(cmd !== undefined && { command: cmd }),
    ...(uri !== undefined && { url: uri }),
    ...(Object.keys(env).length > 0 && { env }),
    ...(typeof timeout === 'number' && { timeout: timeout * 1000 }),
  };
}

/** Flattens a server of Continue, which nests a `transport`, and headers in `requestOptions`. */
export function continueServer(server: JsonObject): JsonObject | Unusable {
  const { transport, requestOptions: options, uses, ...rest } = server;
  if (typeof uses === 'string') return { leftOut: 'it names a block of the hub of Continue: write its settings out' };
  const flat: JsonObject = isObject(transport) ? { ...rest, ...transport } : server;
  if (!isObject(options)) return flat;
  const { headers, ...others } = options;
  const given = isObject(flat['headers']) ? flat['headers'] : {};
  const all = isObject(headers) ? { ...given, ...headers } : headers; // another value than an object is refused later
  return { ...flat, ...(headers !== undefined && { headers: all }), requestOptions: others };
}

/** Returns a server of Zed with its timeout in milliseconds; the file may have a timeout for all servers. */
export function zedServer(server: JsonObject, _name: string, root: JsonObject): JsonObject {
  const seconds = server['timeout'] ?? root['context_server_timeout'];
  return typeof seconds === 'number' ? { ...server, timeout: seconds * 1000 } : server;
}

/** Adds the settings that other places of the file have for a server of opencode: switches of its tools, and a timeout for all servers. */
export function opencodeServer(server: JsonObject, name: string, root: JsonObject): JsonObject {
  const { tools, mcp } = root;
  const general = isObject(mcp) && isObject(mcp['servers']) ? mcp['timeout'] : undefined;
  const own = isObject(server['timeout']) ? server['timeout'] : {};
  const timed =
    isObject(general) && typeof server['timeout'] !== 'number'
      ? { ...server, timeout: { ...general, ...own } }
      : server;
  if (!isObject(tools)) return timed;
  const prefix = name.replace(/[^A-Za-z0-9_-]/gu, '_');
  const off = Object.entries(tools).flatMap(([pattern, isOn]) =>
    isOn === false && pattern.startsWith(prefix) ? (/^_?(.+)$/su.exec(pattern.slice(prefix.length))?.[1] ?? []) : [],
  );
  return off.length > 0 ? { ...timed, disabledTools: off } : timed;
}
