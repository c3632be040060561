import { readFileSync } from 'node:fs';
import { LaunchError, type PrepareOptions } from './runner.ts';
import { decodeUtf8 } from '../../contract/text/utf8.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const PROXY_NAMES = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'ALL_PROXY'];
const INHERITED = ['PATH', 'HOME', 'LANG', 'TMPDIR', ...PROXY_NAMES, ...PROXY_NAMES.map((name) => name.toLowerCase())];

/** Variables for package sources and trusted CAs: passed to npm, pip and uv, never to a server. */
const INSTALLER_NAMES = [
  ...['npm_config_registry', 'npm_config_cache', 'npm_config_cafile', 'npm_config_userconfig'],
  ...['PIP_INDEX_URL', 'PIP_EXTRA_INDEX_URL', 'PIP_FIND_LINKS', 'PIP_NO_INDEX', 'PIP_CERT', 'PIP_CACHE_DIR'],
  ...['UV_DEFAULT_INDEX', 'UV_INDEX', 'UV_INDEX_URL', 'UV_EXTRA_INDEX_URL', 'UV_FIND_LINKS', 'UV_OFFLINE'],
  ...['UV_CACHE_DIR', 'UV_SYSTEM_CERTS', 'UV_NATIVE_TLS', 'UV_HTTP_TIMEOUT', 'UV_HTTP_RETRIES'],
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE'],
];

/** Variables by which the client of a container engine finds the engine. */
const ENGINE_NAMES = [
  'DOCKER_HOST',
  'DOCKER_CONTEXT',
  'DOCKER_CONFIG',
  'CONTAINER_HOST',
  'CONTAINERS_CONF',
  'XDG_RUNTIME_DIR',
];

/** Variables that a server inherits, in addition to its declared environment. */
export const inheritedEnvironment = (host: Environment): Record<string, string> => pick(host, INHERITED);

export const installerEnvironment = (host: Environment): Record<string, string> =>
  pick(host, [...INHERITED, ...INSTALLER_NAMES]);

export const engineEnvironment = (host: Environment): Record<string, string> =>
  pick(host, [...INHERITED, ...ENGINE_NAMES]);

/**
 * Returns the variables that set the port and address of an HTTP server; empty for stdio.
 * `MCP_TRANSPORT` can be overridden by the declared environment (its values differ between servers), the others cannot.
 */
export function withListenVariables(
  declared: Readonly<Record<string, string>>,
  listen: { host: string; port: number } | undefined,
  transport: PrepareOptions['transport'] = 'streamable-http',
): Record<string, string> {
  if (listen === undefined) return { MCP_TRANSPORT: 'stdio', ...declared };
  const [host, port] = [listen.host, String(listen.port)];
  const names = { PORT: port, MCP_PORT: port, FASTMCP_PORT: port, HOST: host, MCP_HOST: host, FASTMCP_HOST: host };
  return { MCP_TRANSPORT: transport, ...declared, ...names };
}

/** Reads the variables that come from files. @throws LaunchError `EnvironmentFileUnreadable` */
export function readEnvironmentFiles(files: Readonly<Record<string, string>>): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [name, path] of Object.entries(files)) {
    try {
      const text = decodeUtf8(readFileSync(path));
      if (text === undefined) throw new Error('the file is not UTF-8');
      values[name] = text.replace(/\r?\n$/, '');
    } catch (cause) {
      const message = `environment variable ${name} comes from the file ${path}, which cannot be read: check that it exists and is UTF-8`;
      throw new LaunchError('EnvironmentFileUnreadable', message, { cause });
    }
  }
  return values;
}

function pick(host: Environment, names: readonly string[]): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const name of names) {
    const value = host[name];
    if (value !== undefined) picked[name] = value;
  }
  return picked;
}
