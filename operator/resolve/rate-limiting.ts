import { readStorage, storeFacts } from '../../gateway/authserver/storage/index.ts';
import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import type { Scope } from './scope.ts';
import type { VirtualMCPServer } from './snapshot.ts';

type Spec = VirtualMCPServer['spec'];
type SessionStorage = NonNullable<Spec['sessionStorage']>;

const PATH = 'spec.sessionStorage';

/** Returns true when the buckets of rate limits are in `sessionStorage`: when replicas share it and no other store. */
export const limitsUseSessionStorage = ({ config, authServerConfig, sessionStorage }: Spec): boolean =>
  config?.rateLimiting !== undefined &&
  storeFacts(sessionStorage?.provider).isShared &&
  !storeFacts(authServerConfig?.storage?.type).isShared;

/** Resolves the rate limits, and the store of their buckets where it is not that of the authorization server. */
export function resolveRateLimits(scope: Scope): Pick<GatewayConfig, 'rate_limit_config' | 'scaling_config'> {
  const { spec } = scope.vmcp;
  const limits = spec.config?.rateLimiting;
  if (!limits) return {};
  const config = { rate_limit_config: limits };
  if (spec.sessionStorage && limitsUseSessionStorage(spec)) {
    return { ...config, scaling_config: { session_kvstore: resolveSessionStore(spec.sessionStorage, scope) } };
  }
  checkReplicas(scope);
  return config;
}

/** Several pods need a common store. Without `replicas` an autoscaler may start several. */
function checkReplicas(scope: Scope): void {
  const { replicas, authServerConfig } = scope.vmcp.spec;
  if (scope.platform.mode === 'local' || (replicas ?? 2) <= 1) return;
  if (storeFacts(authServerConfig?.storage?.type).isShared) return;
  const count = replicas === undefined ? 'an autoscaler may start several pods' : `there are ${String(replicas)} pods`;
  const message = `${count}, and each would allow the whole limit: set sessionStorage to a kvstore, or replicas: 1`;
  scope.on(scope.vmcp).problem('RateLimitingRequiresKvstore', 'spec.config.rateLimiting', message);
}

function resolveSessionStore({ address = '', db, keyPrefix, passwordRef, tls }: SessionStorage, scope: Scope) {
  const report = scope.on(scope.vmcp);
  const read = readStorage({ type: 'kvstore', kvstore_config: { addr: address } });
  if ('problems' in read)
    for (const { reason, message } of read.problems) report.problem(reason, `${PATH}.address`, message);
  const message =
    'only the buckets of rate limits are stored there: the sessions stay in the memory of each replica, as sharing them is not built yet';
  report.warning('SessionsStayInMemory', PATH, message);
  if (tls?.insecureSkipVerify === true) {
    const risk = 'an attacker on the network can pose as the store: put its certificate authority into caCertSecretRef';
    report.warning('UnverifiedCertificate', `${PATH}.tls.insecureSkipVerify`, risk);
  }
  return {
    address,
    ...(db !== undefined && { db }),
    ...(keyPrefix !== undefined && { key_prefix: keyPrefix }),
    ...(passwordRef && { password_file: scope.mount('Secret', passwordRef.name, passwordRef.key) }),
    ...(tls && {
      tls: {
        ...(tls.caCertSecretRef && {
          ca_cert_file: scope.mount('Secret', tls.caCertSecretRef.name, tls.caCertSecretRef.key),
        }),
        ...(tls.insecureSkipVerify === true && { insecure_skip_verify: true }),
      },
    }),
  };
}
