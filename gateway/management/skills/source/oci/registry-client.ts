import { createHash } from 'node:crypto';
import { challengeParameters } from '../../../../http/challenge-parameters.ts';
import type { Outbound, OutboundBytes } from '../../../../outbound/fetch.ts';
import { SkillError } from '../../errors.ts';
import { formatOciReference, isOnLoopback, type OciReference } from '../../reference/oci-reference.ts';
import { statusError } from '../download.ts';
import { parseJsonBytes } from './manifest.ts';

interface RegistryClientOptions {
  readonly reference: OciReference;
  readonly outbound: Outbound;
  /** `authorization` header with the user's password for the registry. */
  readonly basic: string | undefined;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

const MAX_TOKEN_BYTES = 64 * 1024;
/** The API of Docker Hub has a host of its own. */
const HUB_API = 'registry-1.docker.io';

/** Reads manifests and blobs of one repository. @see OCI distribution specification, Pull */
export class RegistryClient {
  readonly #options: RegistryClientOptions;
  readonly #origin: string;
  #authorization: string | undefined;

  constructor(options: RegistryClientOptions) {
    const { host } = options.reference;
    const api = host === 'docker.io' ? HUB_API : host;
    const scheme = isOnLoopback(options.reference) ? 'http' : 'https';
    this.#options = options;
    this.#origin = `${scheme}://${api}`;
  }

  /** Reads a manifest by a tag or a digest. @throws SkillError, OutboundError */
  async manifest(version: string, accept: readonly string[], maxBytes: number): Promise<Buffer> {
    const path = `/manifests/${version}`;
    return verified(await this.#read(path, maxBytes, { accept: accept.join(', ') }), version);
  }

  /** Reads a blob. @throws SkillError, OutboundError */
  async blob(digest: string, maxBytes: number): Promise<Buffer> {
    return verified(await this.#read(`/blobs/${digest}`, maxBytes, {}), digest);
  }

  async #read(path: string, maxBytes: number, headers: Readonly<Record<string, string>>): Promise<Buffer> {
    let reply = await this.#get(path, maxBytes, headers);
    if (reply.status === 401 && this.#authorization === undefined) {
      this.#authorization = await this.#authorize(reply.headers['www-authenticate'] ?? '');
      if (this.#authorization !== undefined) reply = await this.#get(path, maxBytes, headers);
    }
    if (reply.status !== 200) throw statusError(reply.status, formatOciReference(this.#options.reference));
    return reply.body;
  }

  #get(path: string, maxBytes: number, headers: Readonly<Record<string, string>>): Promise<OutboundBytes> {
    const { reference, outbound, signal, timeoutMs } = this.#options;
    return outbound.requestBytes({
      url: `${this.#origin}/v2/${reference.repository}${path}`,
      method: 'GET',
      headers: { ...headers, ...(this.#authorization !== undefined && { authorization: this.#authorization }) },
      maxBytes,
      timeoutMs,
      followRedirects: 'anywhere',
      signal,
    });
  }

  async #authorize(header: string): Promise<string | undefined> {
    const challenge = parseChallenge(header);
    return challenge === 'basic' ? this.#options.basic : challenge && (await this.#token(challenge));
  }

  /** Requests a token for pulling, with the user's password if there is one. */
  async #token(challenge: BearerChallenge): Promise<string | undefined> {
    const { outbound, basic, signal, timeoutMs, reference } = this.#options;
    const url = tokenUrl(challenge);
    if (!url) return undefined;
    const reply = await outbound.requestBytes({
      url,
      method: 'GET',
      headers: basic === undefined ? {} : { authorization: basic },
      maxBytes: MAX_TOKEN_BYTES,
      timeoutMs,
      signal,
    });
    if (reply.status !== 200) throw statusError(reply.status, formatOciReference(reference));
    const { token, access_token: alias } = parseJsonBytes(reply.body) ?? {};
    const found = [token, alias].find((each) => typeof each === 'string');
    return found === undefined ? undefined : `Bearer ${found}`;
  }
}

export const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

function verified(bytes: Buffer, version: string): Buffer {
  if (!version.startsWith('sha256:') || digestOf(bytes) === version) return bytes;
  throw new SkillError('source_failed', `the registry answered with content that does not have the digest ${version}`);
}

/** Address of a service that issues tokens for a registry. */
interface BearerChallenge {
  readonly realm: string;
  readonly service?: string;
  readonly scope?: string;
}

type Challenge = BearerChallenge | 'basic' | undefined;

/** Parses the `WWW-Authenticate` header of a registry. RFC 6750 §3 */
export function parseChallenge(header: string): Challenge {
  if (/^basic\b/iu.test(header)) return 'basic';
  if (!/^bearer\b/iu.test(header)) return undefined;
  const parameters = challengeParameters(header);
  const [realm, service, scope] = [parameters.get('realm'), parameters.get('service'), parameters.get('scope')];
  if (realm === undefined) return undefined;
  return { realm, ...(service !== undefined && { service }), ...(scope !== undefined && { scope }) };
}

/** Returns the URL that issues a token. */
export function tokenUrl({ realm, service, scope }: BearerChallenge): URL | undefined {
  const url = URL.parse(realm);
  if (service !== undefined) url?.searchParams.set('service', service);
  if (scope !== undefined) url?.searchParams.set('scope', scope);
  return url ?? undefined;
}
