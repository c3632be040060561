import { Buffer } from 'node:buffer';
import type { Identity, Secret } from '../../contract/identity.ts';
import { parseObject } from '../../contract/json.ts';
import type { Logger } from '../../contract/logger.ts';
import type { AccessTokens, IssuerValidator } from '../token-validator.ts';

interface WithClaims {
  readonly token: Secret;
  readonly identity: Identity;
}

/**
 * Adds the claims of the user's access token of one upstream provider to each identity. An identity stays without them, and
 * policies then deny, when the login has no such token or when it is not a signed JWT. The signature is not verified: the
 * gateway got the token from the provider itself.
 */
export function withUpstreamClaims(
  validator: IssuerValidator,
  provider: string,
  tokens: AccessTokens,
  log: Pick<Logger, 'warn'>,
): IssuerValidator {
  const claims = new UpstreamClaims(provider, tokens, log);
  return {
    validate(token) {
      const identity = validator.validate(token);
      return identity instanceof Promise ? identity.then((verified) => claims.addTo(verified)) : claims.addTo(identity);
    },
    liveness: (identity) => validator.liveness(claims.verifiedOf(identity)),
    warmUp: () => {
      validator.warmUp();
    },
    status: () => validator.status(),
    issuer: () => validator.issuer(),
    close: () => {
      validator.close();
    },
  };
}

class UpstreamClaims {
  readonly #provider: string;
  readonly #tokens: AccessTokens;
  readonly #log: Pick<Logger, 'warn'>;
  /** Last result of each verified identity. */
  readonly #known = new WeakMap<Identity, WithClaims>();
  readonly #verified = new WeakMap<Identity, Identity>();
  readonly #warned = new WeakSet<Identity>();

  constructor(provider: string, tokens: AccessTokens, log: Pick<Logger, 'warn'>) {
    this.#provider = provider;
    this.#tokens = tokens;
    this.#log = log;
  }

  /** Returns synchronously when the token is in memory. The same token gives the same identity. */
  addTo(identity: Identity): Identity | Promise<Identity> {
    const { tsid, subject, clientId } = identity;
    if (tsid === undefined) return identity;
    try {
      const token = this.#tokens.get({ tsid, subject, clientId }, this.#provider);
      if (!(token instanceof Promise)) return this.#with(identity, token.accessToken);
      return token
        .then(({ accessToken }) => this.#with(identity, accessToken))
        .catch((error: unknown) => this.#without(identity, error));
    } catch (error) {
      return this.#without(identity, error);
    }
  }

  /** Returns the identity that was verified, for one that `addTo` returned. */
  verifiedOf(identity: Identity): Identity {
    return this.#verified.get(identity) ?? identity;
  }

  #with(identity: Identity, token: Secret): Identity {
    const before = this.#known.get(identity);
    if (before?.token === token) return before.identity;
    const claims = claimsOf(token.reveal());
    if (!claims) return this.#without(identity, 'the access token of the provider is not a signed JWT');
    const result = { ...identity, upstream: { provider: this.#provider, claims } };
    this.#known.set(identity, { token, identity: result });
    this.#verified.set(result, identity);
    return result;
  }

  #without(identity: Identity, fault: unknown): Identity {
    if (this.#warned.has(identity)) return identity;
    this.#warned.add(identity);
    const reason = fault instanceof Error ? fault.message : String(fault);
    const message = 'policies deny this user: the claims of the upstream provider are missing';
    this.#log.warn(message, { provider: this.#provider, reason });
    return identity;
  }
}

/** Returns the claims of a JWT in compact form; undefined for another token. @see RFC 7515 section 7.1 */
function claimsOf(token: string): Readonly<Record<string, unknown>> | undefined {
  const [, payload, ...rest] = token.split('.');
  if (payload === undefined || rest.length !== 1 || !/^[\w-]+$/u.test(payload)) return undefined;
  return parseObject(Buffer.from(payload, 'base64url').toString());
}
