import { createHash } from 'node:crypto';
import type { GatewayConfig } from './contract/gateway-config.ts';

/** Returns a digest of the members that decide which clients are accepted. */
export function clientRulesOf({ oidc_config: oidc, vmcp: { incoming } }: GatewayConfig): string {
  const rules = {
    issuer: oidc?.issuer,
    audience: oidc?.audience,
    clientId: oidc?.clientID,
    keys: oidc?.jwksurl,
    ...incoming,
    allowed_hosts: undefined,
    allowed_origins: undefined,
  };
  return createHash('sha256')
    .update(JSON.stringify(sorted(rules)))
    .digest('base64url')
    .slice(0, 16);
}

/** Returns members in the order of their names, so that equal rules have equal texts. */
const sorted = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(
        Object.entries(value)
          .toSorted(([one], [other]) => (one < other ? -1 : 1))
          .map(([name, member]) => [name, sorted(member)]),
      )
    : value;
