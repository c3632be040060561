import type { GatewayConfig } from '../../contract/gateway-config.ts';
import type { Outbound } from '../../outbound/fetch.ts';
import { policyFor, type OutboundPolicy } from '../../outbound/policy.ts';
import type { TokenRules } from './bearer-validator.ts';
import type { IncomingConfig, ValidatorDeps } from '../token-validator.ts';

type OidcConfig = NonNullable<GatewayConfig['oidc_config']>;

const CLOCK_SKEW_SECONDS = 30;

/** Throws an Error when `audience` is missing: tokens for any service would be accepted. */
export function oidcOf({ oidc_config: oidc }: IncomingConfig): OidcConfig & { readonly audience: string } {
  if (!oidc?.audience)
    throw new Error('oidc_config.audience is missing: tokens for any other service would be accepted');
  return { ...oidc, audience: oidc.audience };
}

/** Returns the configured rules for tokens of `issuer`. */
export function rulesFor(config: IncomingConfig, issuer: string): TokenRules {
  const { clock_skew_seconds: skew = CLOCK_SKEW_SECONDS, require_client_id: requireClientId } = config.vmcp.incoming;
  const { audience, clientID: clientId } = oidcOf(config);
  if (requireClientId === true && !clientId)
    throw new Error('vmcp.incoming.require_client_id is set, but oidc_config.clientID is not');
  return {
    issuer,
    audience,
    clientId,
    requireClientId: requireClientId === true,
    clockSkewMs: skew * 1000,
    requireKid: false,
  };
}

/** Outbound guards of one configuration block, one per policy. */
export class IssuerGuards {
  readonly #oidc: OidcConfig;
  readonly #deps: ValidatorDeps;
  readonly #open = new Map<string, Outbound>();

  constructor(oidc: OidcConfig, deps: ValidatorDeps) {
    this.#oidc = oidc;
    this.#deps = deps;
  }

  /** Returns the guard for the configured `url` and for URLs that its replies name. */
  for(url: string): Outbound {
    const { allowPrivateIP, insecureAllowHTTP, cacertPath } = this.#oidc;
    const policy = policyFor(url, { allowPrivateIPs: allowPrivateIP, insecureAllowHTTP });
    return this.with(policy, cacertPath, url);
  }

  with(policy: OutboundPolicy, caFile: string | undefined, configuredUrl?: string): Outbound {
    const key = JSON.stringify([policy, caFile, URL.parse(configuredUrl ?? '')?.host]);
    const present = this.#open.get(key);
    if (present) return present;
    const guard = this.#deps.outbound({ policy, configuredUrl, caFile, log: this.#deps.log });
    this.#open.set(key, guard);
    return guard;
  }

  close(): void {
    for (const guard of this.#open.values()) {
      guard.close().catch((error: unknown) => {
        this.#deps.log.debug('closing connections to the issuer failed', { error: String(error) });
      });
    }
  }
}

/** Returns the bearer token of `authTokenFile` for configured origins only. */
export function configuredBearer(
  { authTokenFile, issuer, jwksurl, introspectionURL }: OidcConfig,
  readSecret: (file: string) => string,
): (url: string) => Readonly<Record<string, string>> {
  const origins = new Set([issuer, jwksurl, introspectionURL].map(originOf));
  return (url) =>
    authTokenFile !== undefined && origins.has(originOf(url))
      ? { authorization: `Bearer ${readSecret(authTokenFile)}` }
      : {};
}

const originOf = (url: string | undefined): string | undefined =>
  url === undefined ? undefined : URL.parse(url)?.origin;
