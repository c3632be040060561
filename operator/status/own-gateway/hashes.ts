import type { ServerCheck } from '../../resolve/objects.ts';
import type { MCPServer, Snapshot } from '../../resolve/snapshot.ts';
import { digest } from '../digest.ts';

const MEMBERS = [
  'authServerConfigHash',
  'oidcConfigHash',
  'authzConfigHash',
  'telemetryConfigHash',
  'webhookConfigHash',
] as const;

type Hashes = Readonly<Partial<Record<(typeof MEMBERS)[number], unknown>>>;

/** Returns digests of the configs that the own gateway uses. An invalid spec keeps the previous ones, as the pods do. */
export function gatewayHashes(
  { spec }: MCPServer,
  check: ServerCheck,
  snapshot: Snapshot,
  live: Readonly<Record<string, unknown>>,
): Hashes {
  const { gateway } = check;
  if (!gateway) return {};
  if (!gateway.config) return Object.fromEntries(MEMBERS.map((member) => [member, live[member]]));
  const { authServerRef, oidcConfigRef, telemetryConfigRef, webhookConfigRef } = spec;
  const authServer = authServerRef && snapshot.externalAuthConfigs.get(authServerRef.name);
  const oidc = oidcConfigRef && snapshot.oidcConfigs.get(oidcConfigRef.name);
  const telemetry = telemetryConfigRef && snapshot.telemetryConfigs.get(telemetryConfigRef.name);
  const webhooks = webhookConfigRef && snapshot.webhookConfigs.get(webhookConfigRef.name);
  const { authz_config: policies } = gateway.config;
  return {
    authServerConfigHash: authServer && digest(authServer.spec),
    oidcConfigHash: oidc && digest(oidc.spec),
    authzConfigHash: policies && digest(policies),
    telemetryConfigHash: telemetry && digest(telemetry.spec),
    webhookConfigHash: webhooks && digest(webhooks.spec),
  };
}
