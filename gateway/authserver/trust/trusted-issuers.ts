import type { IncomingMessage } from 'node:http';
import type { Identity } from '../../contract/identity.ts';
import { withFields, type Logger } from '../../contract/logger.ts';
import type { AddressOf } from '../../http/client-address.ts';
import { discoveredKeys, IssuerDiscovery } from '../../incoming/keys/discovery.ts';
import { jsonGet } from '../../incoming/keys/json-get.ts';
import { RemoteKeys } from '../../incoming/keys/remote-keys.ts';
import { verifyJwt } from '../../incoming/tokens/jwt.ts';
import type { Outbound, OutboundOptions } from '../../outbound/fetch.ts';
import { policyFor } from '../../outbound/policy.ts';
import type { AuthServerSettings, TrustedIssuer } from '../settings.ts';
import type { JsonObject } from '../../contract/json.ts';
import { TokenRefused } from '../../incoming/refusal.ts';
import { classify, decodeObject, type JwtParts } from '../../incoming/tokens/classify.ts';

/** JWT whose signature is not verified yet. */
export interface ForeignJwt {
  readonly token: string;
  readonly parts: JwtParts;
  readonly claims: JsonObject;
}

const MAX_TOKEN_CHARS = 16 * 1024;

/** Reads a JWT without verifying it. Returns undefined for any other text and for an encrypted JWT. */
export function readForeignJwt(token: string): ForeignJwt | undefined {
  if (token.length > MAX_TOKEN_CHARS) return undefined;
  try {
    const parts = classify(token);
    const claims = parts && decodeObject(parts.payload);
    return claims && { token, parts, claims };
  } catch (error) {
    if (error instanceof TokenRefused) return undefined;
    throw error;
  }
}

interface TrustedIssuersDeps {
  readonly issuers: readonly TrustedIssuer[];
  readonly outbound: (options: OutboundOptions) => Outbound;
  readonly addressOf: AddressOf;
  /** ms since the epoch. */
  readonly now: () => number;
  readonly log: Logger;
}

/** Largest accepted clock difference. */
export const SKEW_MS = 30_000;

interface Opened {
  readonly issuer: TrustedIssuer;
  readonly keys: RemoteKeys;
  readonly outbound: Outbound;
}

/** Other issuers whose tokens this server accepts, with their keys, which the first token fetches. */
export class TrustedIssuers {
  readonly #deps: TrustedIssuersDeps;
  readonly #opened: ReadonlyMap<string, Opened>;

  constructor(deps: TrustedIssuersDeps) {
    this.#deps = deps;
    this.#opened = new Map(deps.issuers.map((issuer) => [issuer.url, open(issuer, deps)]));
  }

  /** Finds the issuer that a token names. */
  find({ claims }: ForeignJwt): TrustedIssuer | undefined {
    const { iss } = claims;
    return typeof iss === 'string' ? this.#opened.get(iss)?.issuer : undefined;
  }

  /** Verifies a token of this issuer. Rejects with `TokenRefused` or `DependencyDown`. */
  async verify(
    { url: issuer }: TrustedIssuer,
    jwt: ForeignJwt,
    audience: string,
    req: IncomingMessage,
  ): Promise<Identity> {
    const keys = this.#opened.get(issuer)?.keys;
    if (!keys) throw new Error(`${issuer} is not a trusted issuer`);
    const rules = { issuer, audience, requireClientId: false, clockSkewMs: SKEW_MS, requireKid: false };
    return (await verifyJwt(jwt, keys, rules, this.#deps.now(), req)).identity;
  }

  async close(): Promise<void> {
    const opened = [...this.#opened.values()];
    for (const { keys } of opened) keys.close();
    await Promise.all(opened.map(({ outbound }) => outbound.close()));
  }
}

function open(issuer: TrustedIssuer, { outbound: create, addressOf, now, log }: TrustedIssuersDeps): Opened {
  const { url, jwksUrl, allowPrivateIPs, insecureAllowHTTP } = issuer;
  const child = withFields(log, { issuer: url });
  const outbound = create({
    policy: policyFor(jwksUrl ?? url, { allowPrivateIPs, insecureAllowHTTP }),
    configuredUrl: jwksUrl ?? url,
    log: child,
  });
  const getter = (dependency: 'discovery' | 'keys') => jsonGet({ outbound, headersFor: () => ({}), dependency });
  const getKeys = getter('keys');
  const discovery = new IssuerDiscovery(url, getter('discovery'), now);
  const fetchKeys = () => (jwksUrl === undefined ? discoveredKeys(discovery, getKeys) : getKeys(jwksUrl));
  return { issuer, outbound, keys: new RemoteKeys({ fetchKeys, addressOf, now, log: child }) };
}

/** Returns true while an issuer is configured as trusted. Tokens of its subjects end when it is removed. */
export const trusts = ({ delegation }: Pick<AuthServerSettings, 'delegation'>, issuer: string | undefined): boolean =>
  delegation?.issuers.some(({ url }) => url === issuer) ?? false;
