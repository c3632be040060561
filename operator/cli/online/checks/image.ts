import { jsonObject, notFound, replyOf, unchecked, type Online, type OnlineCheck } from '../online-check.ts';

const MANIFESTS = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ');

interface Reference {
  readonly host: string;
  readonly repository: string;
  /** Tag or digest. */
  readonly version: string;
}

/** Parses a valid reference as container engines do: without a host it is one of Docker Hub. */
export function parseReference(image: string): Reference {
  const [path = '', digest] = image.split('@');
  const slash = path.indexOf('/');
  const first = slash === -1 ? '' : path.slice(0, slash);
  const isHost = /[.:]/u.test(first) || first === 'localhost';
  const named = isHost ? path.slice(slash + 1) : path;
  const [name = '', tag = 'latest'] = named.split(':');
  const repository = isHost || name.includes('/') ? name : `library/${name}`;
  const host = isHost && first !== 'docker.io' ? first : 'registry-1.docker.io';
  return { host, repository, version: digest ?? tag };
}

/** Engines use http for registries on this machine. */
const schemeOf = (host: string): string => (/^(?:localhost|127\.\d+\.\d+\.\d+)(?::|$)/u.test(host) ? 'http' : 'https');

/**
 * Checks that the registry has the manifest, with an anonymous token if it asks for one. A private image cannot be told
 * from a missing one, so only a 404 is a problem.
 */
export const image: OnlineCheck = async ({ value }, online) => {
  const { host, repository, version } = parseReference(value);
  const url = `${schemeOf(host)}://${host}/v2/${repository}/manifests/${version}`;
  const head = (headers: Readonly<Record<string, string>> = {}) =>
    replyOf(online.get, url, { method: 'HEAD', headers: { accept: MANIFESTS, ...headers } });
  let reply = await head();
  if (typeof reply !== 'string' && reply.status === 401) {
    const token = await anonymousToken(reply.header('www-authenticate') ?? '', online);
    if (token !== undefined) reply = await head({ authorization: `Bearer ${token}` });
  }
  if (typeof reply === 'string') return unchecked(`${reply}: the image "${value}" was not checked`);
  if (reply.status === 404) return notFound(`${host} has no image "${value}": correct its name or tag`);
  if (reply.status === 200) return undefined;
  const status = String(reply.status);
  return unchecked(`${host} answered ${status} for "${value}": it is private, or does not exist`);
};

/** Requests a token for pulling without a credential, as the challenge of the registry says. */
async function anonymousToken(challenge: string, { get }: Online): Promise<string | undefined> {
  const parameters = new Map(
    [...challenge.matchAll(/(?:^|[ ,])(\w+)="([^"]*)"/gu)].map(([, name, value]) => [name, value ?? '']),
  );
  const realm = URL.parse(parameters.get('realm') ?? '');
  if (!realm || !/^https?:$/u.test(realm.protocol)) return undefined;
  for (const name of ['service', 'scope']) {
    const value = parameters.get(name);
    if (value !== undefined) realm.searchParams.set(name, value);
  }
  const reply = await replyOf(get, realm.href);
  if (typeof reply === 'string' || reply.status !== 200) return undefined;
  const { token, access_token: alias } = jsonObject(reply.body);
  return [token, alias].find((each) => typeof each === 'string');
}
