import { randomUUID } from 'node:crypto';
import { readClientKey, inFile, type ClientKey } from './private-key.ts';
import type { PrivateKeyJwtConfig } from '../contract/run-config/private-key-jwt.ts';

interface ClientAssertionDeps {
  /** Returns the current content of a file. Throws an Error that names it. */
  readonly readSecret: (file: string) => string;
  /** ms since the epoch. */
  readonly now: () => number;
}

export interface AssertionRequest {
  readonly clientId: string;
  /** `aud` unless the configuration names another. */
  readonly audience: string;
  /** Algorithms that the provider lists, if known. */
  readonly supported?: readonly string[] | undefined;
}

/** Parameters with which a client authenticates a request. @see RFC 7523 §2.2 */
export interface AssertionParameters {
  readonly client_id: string;
  readonly client_assertion_type: string;
  readonly client_assertion: string;
}

const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
/** Lifetime, which some providers limit to a minute, s. */
const LIFETIME_S = 60;
/** Difference that the clock of a provider may be behind, s. */
const CLOCK_SKEW_S = 5;

/**
 * Authentication of the gateway at a provider with a private key, `private_key_jwt`. Follows changes of the key file.
 *
 * `aud` is the issuer where it is known, since another provider could use an assertion for an endpoint that it names as its own.
 * @see RFC 7523 §3, OpenID Connect Core 1.0 §9, draft-ietf-oauth-rfc7523bis §4
 */
export class ClientAssertion {
  readonly #config: PrivateKeyJwtConfig;
  readonly #deps: ClientAssertionDeps;
  #known: { readonly text: string; readonly key: ClientKey } | undefined;

  constructor(config: PrivateKeyJwtConfig, deps: ClientAssertionDeps) {
    this.#config = config;
    this.#deps = deps;
  }

  /** Returns new parameters for each request, since an assertion is valid once. Rejects with an Error that names the file. */
  async parameters({ clientId, audience, supported }: AssertionRequest): Promise<AssertionParameters> {
    const { key, algorithms, kid, thumbprint } = this.#key();
    const { key_id: id = kid } = this.#config;
    const { SignJWT } = await import('jose'); // the operator imports the users of this class and signs nothing
    const issuedAt = Math.floor(this.#deps.now() / 1_000) - CLOCK_SKEW_S;
    const assertion = new SignJWT()
      .setProtectedHeader({
        alg: algorithms.find((each) => supported?.includes(each)) ?? algorithms[0] ?? '',
        typ: 'JWT',
        ...(id !== undefined && { kid: id }),
        ...(thumbprint !== undefined && { 'x5t#S256': thumbprint }),
      })
      .setIssuer(clientId)
      .setSubject(clientId)
      .setAudience(this.#config.audience ?? audience)
      .setJti(randomUUID())
      .setIssuedAt(issuedAt)
      .setNotBefore(issuedAt)
      .setExpirationTime(issuedAt + LIFETIME_S);
    return { client_id: clientId, client_assertion_type: TYPE, client_assertion: await assertion.sign(key) };
  }

  #key(): ClientKey {
    const { private_key_file: file, algorithm } = this.#config;
    const text = this.#deps.readSecret(file);
    if (this.#known?.text !== text) this.#known = { text, key: inFile(file, () => readClientKey(text, algorithm)) };
    return this.#known.key;
  }
}
