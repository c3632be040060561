import type * as jose from 'jose';
import type { Outbound } from '../../../outbound/fetch.ts';
import type { Provider } from './guards.ts';
import { toUpstreamError } from '../upstream-error.ts';
import { MAX_DOCUMENT_BYTES } from './transport.ts';

/** Loaded by the first login, since the operator also imports the variants and verifies nothing. */
let loaded: Promise<typeof jose> | undefined;
const load = () => (loaded ??= import('jose'));

const MAX_AGE_MS = 300_000;
/** Shortest time between two fetches because of unknown keys. */
const COOLDOWN_MS = 30_000;

/** Errors of jose that concern the token and not the keys. */
const NOT_GENUINE: ReadonlySet<string> = new Set([
  'ERR_JOSE_NOT_SUPPORTED',
  'ERR_JWKS_MULTIPLE_MATCHING_KEYS',
  'ERR_JWKS_NO_MATCHING_KEY',
  'ERR_JWS_INVALID',
  'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
]);

/** Keys of one provider for ID tokens, fetched when needed and imported once. @see OpenID Connect Core §10.1.1 */
export class ProviderKeys {
  readonly #timeoutMs: number;
  #set: { readonly url: string; readonly find: jose.CompactVerifyGetKey } | undefined;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Returns true when a key of the provider signed this JWT. Rejects with `UpstreamError` when the keys are unavailable. */
  async hasSigned(jwt: string, provider: Provider): Promise<boolean> {
    const library = await load();
    try {
      await library.compactVerify(jwt, this.#find(provider, library));
      return true;
    } catch (error) {
      if (error instanceof library.errors.JOSEError && NOT_GENUINE.has(error.code)) return false;
      throw toUpstreamError(error, { what: 'the import of the keys', status: undefined });
    }
  }

  #find(
    { metadata: { jwks_uri: url = '' }, outbound }: Provider,
    { createRemoteJWKSet, customFetch }: Pick<typeof jose, 'createRemoteJWKSet' | 'customFetch'>,
  ): jose.CompactVerifyGetKey {
    if (this.#set?.url === url) return this.#set.find;
    const find = createRemoteJWKSet(new URL(url), {
      cacheMaxAge: MAX_AGE_MS,
      cooldownDuration: COOLDOWN_MS,
      [customFetch]: fetchBy(outbound, this.#timeoutMs),
    });
    this.#set = { url, find };
    return find;
  }
}

const fetchBy =
  (outbound: Outbound, timeoutMs: number): jose.FetchImplementation =>
  async (url) => {
    const what = 'the request for the keys';
    const headers = { accept: 'application/jwk-set+json, application/json' };
    const reply = await outbound
      .request({ url, method: 'GET', headers, maxBytes: MAX_DOCUMENT_BYTES, timeoutMs, followRedirects: true })
      .catch((error: unknown) => {
        throw toUpstreamError(error, { what, status: undefined });
      });
    if (reply.status !== 200) throw toUpstreamError(undefined, { what, status: reply.status });
    return new Response(reply.body);
  };
