import { maxSatisfying, validRange } from 'semver';
import type { ObjectProblem } from '../../resolve/scope.ts';
import { trusting, type Get, type Reply, ANY_ANSWER, issuerFault, metadataAt } from './probes.ts';
import {
  type OnlineFinding,
  type NamedSubject,
  type Online,
  type OnlineCheck,
  type Subject,
  jsonObject,
  notFound,
  replyOf,
  unchecked,
  unreachable,
} from './online-check.ts';
import { isObject } from '../../../gateway/contract/json.ts';
import { parseNpx } from '../../../gateway/workloads/runner/schemes/npx.ts';
import { parseUvx } from '../../../gateway/workloads/runner/schemes/uvx.ts';

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

/** Parses a valid reference as container engines do: without a host it names an image of Docker Hub. */
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
 * Checks that the registry has the manifest, with an anonymous token if it asks for a token. A private image cannot be told
 * from a missing one, so only a 404 is a problem.
 */
const image: OnlineCheck = async ({ value }, online) => {
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

const REGISTRY = 'https://registry.npmjs.org/';
/** The document that npm itself requests: without the texts of each version. */
const ABBREVIATED = 'application/vnd.npm.install-v1+json, application/json;q=0.8';

/** Checks that the registry has the package in a version that the reference allows. */
const npmPackage: OnlineCheck = async ({ value }, { get, env }) => {
  const { name, version } = parseNpx(value);
  const registry = env['npm_config_registry'] ?? env['NPM_CONFIG_REGISTRY'] ?? REGISTRY;
  const url = `${registry.replace(/\/$/u, '')}/${name.replace('/', '%2f')}`;
  const reply = await replyOf(get, url, { headers: { accept: ABBREVIATED } });
  if (typeof reply === 'string') return unreachable(`${reply}: the package "${name}" was not checked`);
  if (reply.status === 404) return notFound(`npm has no package "${name}": correct its name`);
  if (reply.status !== 200) return unchecked(`the npm registry answered ${String(reply.status)} for "${name}"`);
  const { versions, 'dist-tags': tags } = jsonObject(reply.body);
  const known = isObject(versions) ? Object.keys(versions) : [];
  const tagged = isObject(tags) ? tags : {};
  if (version === undefined || Object.hasOwn(tagged, version)) return undefined;
  if (validRange(version) !== null && maxSatisfying(known, version) !== null) return undefined;
  const latest = typeof tagged['latest'] === 'string' ? `: the latest is ${tagged['latest']}` : '';
  return notFound(`npm has no version ${version} of "${name}"${latest}`);
};

const INDEX = 'https://pypi.org/simple';
/** The simple index as JSON (PEP 691); older indexes answer in HTML, without a list of versions. */
const JSON_INDEX = 'application/vnd.pypi.simple.v1+json, text/html;q=0.1';

/** Returns the names that the index uses (PEP 503). */
const indexName = (name: string): string => name.toLowerCase().replaceAll(/[-_.]+/gu, '-');

/** Returns a text that is equal for equal versions (PEP 440): without zeros at the end. */
function comparable(version: string): string {
  const parts = version.toLowerCase().split('.');
  while (parts.at(-1) === '0') parts.pop();
  return parts.join('.');
}

/** Checks that the index has the package in the version of the reference. */
const pythonPackage: OnlineCheck = async ({ value }, { get, env }) => {
  const { name, requirement } = parseUvx(value);
  const index = env['UV_INDEX_URL'] ?? env['PIP_INDEX_URL'] ?? INDEX;
  const url = `${index.replace(/\/$/u, '')}/${indexName(name)}/`;
  const reply = await replyOf(get, url, { headers: { accept: JSON_INDEX } });
  if (typeof reply === 'string') return unreachable(`${reply}: the package "${name}" was not checked`);
  if (reply.status === 404) return notFound(`PyPI has no package "${name}": correct its name`);
  if (reply.status !== 200) return unchecked(`the Python index answered ${String(reply.status)} for "${name}"`);
  const [, version] = requirement.split('==');
  const { versions } = jsonObject(reply.body);
  if (version === undefined || !Array.isArray(versions)) return undefined;
  const known = versions.filter((each) => typeof each === 'string');
  if (known.some((each) => comparable(each) === comparable(version))) return undefined;
  return notFound(`PyPI has no version ${version} of "${name}": the newest is ${known.at(-1) ?? 'unknown'}`);
};

/** Checks that an HTTP server answers at a token or userinfo endpoint. Such an endpoint may reject HEAD in any way. */
export const endpoint: OnlineCheck = async ({ value }, { get }) => {
  const reply = await replyOf(get, value, ANY_ANSWER);
  if (typeof reply === 'string') return unreachable(`${reply}: start it, or correct the URL`);
  if (reply.status !== 404) return undefined;
  return unchecked(`${value} answers 404 to HEAD: correct its path if the provider has no such endpoint`);
};

/** Checks that an HTTP server answers at the URL. MCP servers reject a HEAD request in many ways: each is an answer. */
export const remoteUrl: OnlineCheck = async ({ value }, { get }) => {
  const reply = await replyOf(get, value, ANY_ANSWER);
  return typeof reply === 'string' ? unreachable(`${reply}: start it, or correct the URL`) : undefined;
};

/** Checks that a gateway could read the keys of the issuer. */
const issuer: OnlineCheck = async ({ issuer: subject }, { get }) => {
  const fault = subject && (await issuerFault(subject, get));
  return fault === undefined
    ? undefined
    : unreachable(`issuer ${subject?.issuer ?? ''}: ${fault}: correct it, or start it`);
};

/** Checks that a provider registers clients, where the gateway has no `clientId` there. */
const registration: OnlineCheck = async ({ value, metadata: place }, { get }) => {
  const metadata = place && (await metadataAt(place, get));
  if (!metadata) return unreachable(`${value} has no metadata of a provider: start it, or correct the URL`);
  if (typeof metadata['registration_endpoint'] === 'string') return undefined;
  const message = `${value} offers no registration of clients, its metadata have no registration_endpoint: register the gateway there by hand, and set clientId in place of dcrConfig`;
  return { severity: 'problem', reason: 'RegistrationNotOffered', message };
};

const MOST_SHOWN = 12;

/** Compares a scope with those that the provider lists. The list may be incomplete (RFC 8414 §2), so this is never a problem. */
const scope: OnlineCheck = async ({ value, metadata: place }, { get }) => {
  const { issuer, scopes_supported: listed } = (place && (await metadataAt(place, get))) ?? {};
  if (!Array.isArray(listed) || listed.includes(value)) return undefined;
  const shown = listed.filter((each) => typeof each === 'string').slice(0, MOST_SHOWN);
  const more = listed.length > MOST_SHOWN ? ', ...' : '';
  const message = `${String(issuer)} does not list the scope "${value}" (scopes_supported: ${shown.join(', ')}${more}): correct it, unless the list is incomplete`;
  return { severity: 'warning', reason: 'ScopeNotListed', message };
};

/** Checks by the type of their subjects. */
export const ONLINE_CHECKS: Readonly<Record<Subject['type'], OnlineCheck>> = {
  npm: npmPackage,
  python: pythonPackage,
  image,
  url: remoteUrl,
  issuer,
  endpoint,
  registration,
  scope,
};

const MOST_AT_ONCE = 8;

/** Checks each subject once, at most 8 at the same time, and returns a problem or a warning for each field that names it. */
export async function examineOnline(
  named: readonly NamedSubject[],
  online: Online,
): Promise<Readonly<Record<'problems' | 'warnings', ObjectProblem[]>>> {
  const { get, env } = { ...online, get: onceEach(online.get) };
  const groups = [...Map.groupBy(named, ({ subject }) => JSON.stringify(subject)).values()];
  const found: { readonly finding: OnlineFinding; readonly object: ObjectProblem }[] = [];
  const waiting = groups.values();
  const work = async (): Promise<void> => {
    for (const group of waiting) {
      const [first] = group;
      const finding =
        first &&
        (await ONLINE_CHECKS[first.subject.type](first.subject, { env, get: trusting(get, first.subject.ca) }));
      if (!finding) continue;
      const { reason, message } = finding;
      for (const { object, path } of group) found.push({ finding, object: { ...object, path, reason, message } });
    }
  };
  await Promise.all(Array.from({ length: MOST_AT_ONCE }, work));
  const of = (severity: OnlineFinding['severity']): ObjectProblem[] =>
    found.filter(({ finding }) => finding.severity === severity).map(({ object }) => object);
  return { problems: of('problem'), warnings: of('warning') };
}

/** Sends each request once: several checks read the same metadata. */
function onceEach(get: Get): Get {
  const sent = new Map<string, Promise<Reply>>();
  return (url, options = {}) => {
    const key = JSON.stringify([url, options]);
    const reply = sent.get(key) ?? get(url, options);
    sent.set(key, reply);
    return reply;
  };
}
