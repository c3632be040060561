import { classifyHost } from '../../../outbound/address-class.ts';

/** Artifact in an OCI registry. */
export interface OciReference {
  readonly kind: 'oci';
  /** Host with its port, if any. */
  readonly host: string;
  readonly repository: string;
  /** Absent when the reference has none. */
  readonly tag?: string;
  /** Such as `sha256:...`. */
  readonly digest?: string;
}

const HOST = /^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?$/u;
/** @see OCI distribution specification, Pulling manifests */
const COMPONENT = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/u;
const TAG = /^\w[\w.-]{0,127}$/u;
const DIGEST = /^sha256:[0-9a-f]{64}$/u;
const MAX_REPOSITORY = 255;
const DOCKER_HUB = 'docker.io';

/** Returns true for a tag of an artifact. */
export const isTag = (text: string): boolean => TAG.test(text);

/** Parses a reference as container engines do: without a host it is one of Docker Hub. Returns undefined for another text. */
export function parseOciReference(text: string): OciReference | undefined {
  const [path = '', digest, ...more] = text.split('@');
  const slash = path.indexOf('/');
  const first = path.slice(0, Math.max(slash, 0));
  const hasHost = /[.:]/u.test(first) || first === 'localhost';
  const [name = '', tag, ...others] = (hasHost ? path.slice(slash + 1) : path).split(':');
  const host = hasHost ? first : DOCKER_HUB;
  const repository = host === DOCKER_HUB && !name.includes('/') ? `library/${name}` : name;
  const isValid =
    more.length + others.length === 0 &&
    HOST.test(host) &&
    repository.length <= MAX_REPOSITORY &&
    repository.split('/').every((part) => COMPONENT.test(part)) &&
    (tag === undefined || isTag(tag)) &&
    (digest === undefined || DIGEST.test(digest));
  if (!isValid) return undefined;
  return { kind: 'oci', host, repository, ...(tag !== undefined && { tag }), ...(digest !== undefined && { digest }) };
}

/** Returns the reference in full: with its host, and its tag or digest. */
export const formatOciReference = ({ host, repository, tag, digest }: OciReference): string =>
  `${host}/${repository}${tag === undefined ? '' : `:${tag}`}${digest === undefined ? '' : `@${digest}`}`;

/** Returns true for a registry on this machine, which container engines call with http. */
export const isOnLoopback = ({ host }: OciReference): boolean =>
  classifyHost(host.replace(/:\d+$/u, '')) === 'loopback';
