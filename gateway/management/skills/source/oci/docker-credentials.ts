import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DownloadDeps } from '../download.ts';
import { parseObject } from './manifest.ts';

/** Key of Docker Hub in the file. */
const HUB_KEYS = ['https://index.docker.io/v1/', 'index.docker.io', 'docker.io'];

/** Returns the `authorization` header for a registry from the `config.json` of container engines; undefined without one. */
export async function registryAuthorization(
  host: string,
  { env, home }: Pick<DownloadDeps, 'env' | 'home'>,
): Promise<string | undefined> {
  const file = join(env['DOCKER_CONFIG'] ?? join(home, '.docker'), 'config.json');
  const bytes = await readFile(file).catch(() => undefined);
  return bytes && authorizationIn(parseObject(bytes) ?? {}, host);
}

/** Returns the header from the entry of a registry, whose `auth` is `user:password` in base64. */
export function authorizationIn(config: Readonly<Record<string, unknown>>, host: string): string | undefined {
  const auths = config['auths'];
  if (typeof auths !== 'object' || auths === null) return undefined;
  const keys = host === 'docker.io' ? HUB_KEYS : [host, `https://${host}`, `https://${host}/v2/`];
  const entries = new Map<string, unknown>(Object.entries(auths));
  const entry = keys.map((key) => entries.get(key)).find((value) => typeof value === 'object' && value !== null);
  const auth = entry && 'auth' in entry ? entry.auth : undefined;
  return typeof auth === 'string' && /^[A-Za-z0-9+/=]+$/u.test(auth) ? `Basic ${auth}` : undefined;
}
