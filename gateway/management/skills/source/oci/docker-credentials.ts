import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findOnPath } from '../../../../workloads/runner/schemes/path.ts';
import type { DownloadDeps } from '../download.ts';
import { parseJsonBytes } from './manifest.ts';

type Members = Readonly<Record<string, unknown>>;

/** Name of Docker Hub in credential stores. */
const HUB = 'https://index.docker.io/v1/';
const HUB_KEYS = [HUB, 'index.docker.io', 'docker.io'];

/** Returns the `authorization` header for a registry from the credential store of container engines; undefined without one. */
export async function registryAuthorization(
  host: string,
  { env, home }: Pick<DownloadDeps, 'env' | 'home'>,
): Promise<string | undefined> {
  const file = join(env['DOCKER_CONFIG'] ?? join(home, '.docker'), 'config.json');
  const bytes = await readFile(file).catch(() => undefined);
  const config = (bytes && parseJsonBytes(bytes)) ?? {};
  const helper = helperIn(config, host);
  const server = host === 'docker.io' ? HUB : host;
  const asked = helper === undefined ? undefined : await askHelper(helper, server, env);
  return asked ?? authorizationIn(config, host);
}

/** Returns the name of the credential helper that stores the password of a registry. */
export function helperIn(config: Members, host: string): string | undefined {
  const helpers = entryMap(config['credHelpers']);
  const own = keysOf(host)
    .map((key) => helpers.get(key))
    .find(Boolean);
  const helper = own ?? config['credsStore'];
  return typeof helper === 'string' && /^[\w-]+$/u.test(helper) ? helper : undefined;
}

/** Returns the header from the entry of a registry, whose `auth` is `user:password` in base64. */
export function authorizationIn(config: Members, host: string): string | undefined {
  const auths = entryMap(config['auths']);
  const entry = keysOf(host)
    .map((key) => auths.get(key))
    .find((value) => typeof value === 'object' && value !== null);
  const auth = entryMap(entry).get('auth');
  return typeof auth === 'string' && /^[A-Za-z0-9+/=]+$/u.test(auth) ? `Basic ${auth}` : undefined;
}

const keysOf = (host: string): string[] =>
  host === 'docker.io' ? HUB_KEYS : [host, `https://${host}`, `https://${host}/v2/`];

const entryMap = (value: unknown): ReadonlyMap<string, unknown> =>
  new Map(typeof value === 'object' && value !== null ? Object.entries(value) : []);

const TIMEOUT_MS = 10_000;
/** User name that marks an identity token in place of a password. */
const IDENTITY_TOKEN = '<token>';

/**
 * Gets the password of a server from the program `docker-credential-NAME`. Returns the `authorization` header; undefined without a
 * password.
 * @see https://docs.docker.com/reference/cli/docker/login, Credential helper protocol
 */
async function askHelper(
  name: string,
  server: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string | undefined> {
  const program = findOnPath(`docker-credential-${name}`, env);
  if (program === undefined) return undefined;
  const output = await new Promise<Buffer | undefined>((resolve) => {
    const options = { env, timeout: TIMEOUT_MS, encoding: 'buffer' } as const;
    const child = execFile(program, ['get'], options, (error, stdout) => resolve(error ? undefined : stdout));
    child.stdin?.on('error', () => undefined); // a program that does not read ends with its own error
    child.stdin?.end(server);
  });
  const { Username: user, Secret: secret } = (output && parseJsonBytes(output)) ?? {};
  if (typeof user !== 'string' || typeof secret !== 'string' || user === IDENTITY_TOKEN) return undefined;
  return `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`;
}
