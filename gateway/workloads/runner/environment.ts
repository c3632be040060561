import { readFileSync } from 'node:fs';
import { LaunchError, type PrepareOptions } from './runner.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const PROXY_NAMES = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'ALL_PROXY'];
const INHERITED = ['PATH', 'HOME', 'LANG', 'TMPDIR', ...PROXY_NAMES, ...PROXY_NAMES.map((name) => name.toLowerCase())];

/** Where packages come from and which CAs to trust: for npm, pip and uv, never for a server. */
const INSTALLER_NAMES = [
  ...['npm_config_registry', 'npm_config_cache', 'npm_config_cafile', 'npm_config_userconfig'],
  ...['PIP_INDEX_URL', 'PIP_EXTRA_INDEX_URL', 'PIP_FIND_LINKS', 'PIP_NO_INDEX', 'PIP_CERT', 'PIP_CACHE_DIR'],
  ...['UV_DEFAULT_INDEX', 'UV_INDEX', 'UV_INDEX_URL', 'UV_FIND_LINKS', 'UV_NO_INDEX', 'UV_OFFLINE', 'UV_CACHE_DIR'],
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE'],
];

/** How the client of a container engine finds its engine. */
const ENGINE_NAMES = [
  'DOCKER_HOST',
  'DOCKER_CONTEXT',
  'DOCKER_CONFIG',
  'CONTAINER_HOST',
  'CONTAINERS_CONF',
  'XDG_RUNTIME_DIR',
];

/** All that a server inherits from us; its declared environment comes on top. */
export const inheritedEnvironment = (host: Environment): Record<string, string> => pick(host, INHERITED);

export const installerEnvironment = (host: Environment): Record<string, string> =>
  pick(host, [...INHERITED, ...INSTALLER_NAMES]);

export const engineEnvironment = (host: Environment): Record<string, string> =>
  pick(host, [...INHERITED, ...ENGINE_NAMES]);

/**
 * What an HTTP server is told about the port and address to listen on; nothing for stdio.
 * `MCP_TRANSPORT` may be overridden by the declared environment (servers spell it differently), the others may not.
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

/** @throws LaunchError `EnvironmentFileUnreadable` */
export function readEnvironmentFiles(files: Readonly<Record<string, string>>): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [name, path] of Object.entries(files)) {
    try {
      values[name] = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
    } catch (cause) {
      const message = `environment variable ${name} comes from the file ${path}, which cannot be read: check that it exists`;
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
