import { hasUsers, resolveMode } from '../../../gateway/incoming/index.ts';
import type { GatewayConfig, Incoming } from '../../../gateway/contract/gateway-config.ts';
import { networkFault } from '../../../gateway/contract/addresses.ts';
import { resolveOidc, tokenRules } from './oidc.ts';
import { trustedProxiesOf, type Report, type Scope } from '../scope.ts';

/** Resolves the incoming mode and the rules for origins, hosts and proxies. */
export function resolveIncoming(scope: Scope): { incoming: Incoming; oidc?: GatewayConfig['oidc_config'] } {
  const { type, allowedOrigins, allowedHosts } = scope.vmcp.spec.incomingAuth;
  const trustedProxies = trustedProxiesOf(scope);
  const report = scope.on(scope.vmcp);
  checkOrigins(allowedOrigins, report);
  checkHosts(allowedHosts, report);
  checkProxies(trustedProxies, report);
  const { incoming, config, oidc } = resolveMode(scope.vmcp.spec.incomingAuth, {
    tokens: () => resolveOidc(scope),
    secretFile: ({ name, key }) => scope.mount('Secret', name, key),
    problem: ({ reason, path, message }) => {
      report.problem(reason, `spec.incomingAuth.${type}${path === '' ? '' : `.${path}`}`, message);
    },
  });
  return {
    incoming: {
      type,
      ...incoming,
      ...(hasUsers(type) && tokenRules(scope)),
      ...(config && { config }),
      ...(allowedOrigins && { allowed_origins: allowedOrigins }),
      ...(allowedHosts && { allowed_hosts: allowedHosts }),
      ...(trustedProxies.length > 0 && { trusted_proxies: [...trustedProxies] }),
    },
    ...(oidc && { oidc }),
  };
}

function checkOrigins(allowedOrigins: readonly string[] | undefined, report: Report): void {
  allowedOrigins?.forEach((origin, index) => {
    const canonical = URL.parse(origin)?.origin;
    if (canonical === origin) return;
    const advice =
      canonical === undefined ? 'write scheme, host and port, such as https://app.example.com' : `write ${canonical}`;
    const path = `spec.incomingAuth.allowedOrigins[${String(index)}]`;
    report.problem('InvalidOrigin', path, `"${origin}" is not an origin as browsers send it: ${advice}`);
  });
}

function checkHosts(allowedHosts: readonly string[] | undefined, report: Report): void {
  allowedHosts?.forEach((host, index) => {
    if (URL.parse(`http://${host}`)?.host === host.toLowerCase().replace(/:80$/u, '')) return;
    const message = `"${host}" is not a host name: write a name or address, with :PORT if needed`;
    report.problem('InvalidHost', `spec.incomingAuth.allowedHosts[${String(index)}]`, message);
  });
}

function checkProxies(trustedProxies: readonly string[], report: Report): void {
  trustedProxies.forEach((network, index) => {
    const fault = networkFault(network);
    if (fault === undefined) return;
    report.problem('InvalidNetwork', `spec.incomingAuth.trustedProxies[${String(index)}]`, fault);
  });
}
