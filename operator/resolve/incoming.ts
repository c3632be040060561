import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import type { Scope } from './scope.ts';

type Incoming = GatewayConfig['vmcp']['incoming'];

/** Who may call the gateway. `oidc` is refused by the table of unbuilt fields. */
export function resolveIncoming(scope: Scope): Incoming {
  const { type, oidcConfig, allowedOrigins, allowedHosts } = scope.vmcp.spec.incomingAuth;
  const report = scope.on(scope.vmcp);
  const cluster = oidcConfig?.type === 'kubernetes' ? oidcConfig.kubernetes : undefined;
  if (oidcConfig?.type === 'kubernetes' && scope.platform.mode === 'local' && (!cluster?.issuer || !cluster.jwksUrl)) {
    const message = 'there is no cluster here to ask for its issuer: set kubernetes.issuer and kubernetes.jwksUrl';
    report.problem('ClusterIssuerUnknown', 'spec.incomingAuth.oidcConfig.type', message);
  }
  allowedOrigins?.forEach((origin, index) => {
    const canonical = URL.parse(origin)?.origin;
    if (canonical === origin) return;
    const advice =
      canonical === undefined ? 'write scheme, host and port, such as https://app.example.com' : `write ${canonical}`;
    const path = `spec.incomingAuth.allowedOrigins[${String(index)}]`;
    report.problem('InvalidOrigin', path, `no browser sends the origin "${origin}": ${advice}`);
  });
  allowedHosts?.forEach((host, index) => {
    if (URL.parse(`http://${host}`)?.host === host.toLowerCase().replace(/:80$/u, '')) return;
    const message = `"${host}" is not a host name: write a name or address, with :PORT if needed`;
    report.problem('InvalidHost', `spec.incomingAuth.allowedHosts[${String(index)}]`, message);
  });
  return {
    type,
    ...(allowedOrigins && { allowed_origins: allowedOrigins }),
    ...(allowedHosts && { allowed_hosts: allowedHosts }),
  };
}
