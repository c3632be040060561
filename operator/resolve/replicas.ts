import type { Scope } from './scope.ts';
import type { MCPServer, VirtualMCPServer } from './snapshot.ts';
import { readStorage, storeFacts } from '../../gateway/authserver/storage/index.ts';
import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';

/** Returns the number of pods that an MCPServer asks for; undefined when an autoscaler may set it. */
export const replicasOf = ({ replicas, backendReplicas }: MCPServer['spec']): number | undefined =>
  replicas ?? backendReplicas;

/** State that the pods of a gateway do not share: several pods would reject each other's clients. */
interface Unshared {
  /** Returns the consequence for a number of pods. */
  readonly consequence: (replicas: number) => string;
  readonly advice: string;
}

/**
 * Reports state that the pods would not share. For several pods it is a problem. For an absent number it is a reason to run a
 * single pod, because an autoscaler may start several. Local mode always starts one process.
 */
export function reportUnshared({ consequence, advice }: Unshared, scope: Scope): void {
  const { platform, vmcp, onePod } = scope;
  const { replicas } = vmcp.spec;
  if (platform.mode === 'local') return;
  if (replicas === undefined) onePod.push(advice);
  else if (replicas > 1)
    scope
      .on(vmcp)
      .problem('ReplicasShareNothing', 'spec.replicas', `${consequence(replicas)}: ${advice}, or set replicas: 1`);
}

type Spec = VirtualMCPServer['spec'];
type SessionStorage = NonNullable<Spec['sessionStorage']>;

const PATH = 'spec.sessionStorage';

const isStore = ({ sessionStorage }: Spec): boolean => storeFacts(sessionStorage?.provider).isShared;
const isAuthServerStore = ({ authServerConfig }: Spec): boolean => storeFacts(authServerConfig?.storage?.type).isShared;

/** Returns true when all replicas have one store, which holds rate limits at least. */
const replicasShareStore = (spec: Spec): boolean => isStore(spec) || isAuthServerStore(spec);

/** Returns true when all replicas have one store for sessions. An explicit `memory` excludes that of the authorization server. */
export const replicasShareSessions = (spec: Spec): boolean => replicasShareStore(spec) && !prefersMemory(spec);

/** Returns true when `sessionStorage` keeps sessions out of the store of the authorization server. */
const prefersMemory = (spec: Spec): boolean =>
  spec.sessionStorage !== undefined && !isStore(spec) && isAuthServerStore(spec);

/** Returns the warning about several replicas without a common store. */
export const unsharedSessions = (replicas: number): string =>
  `sessions are in the memory of each of the ${String(replicas)} pods, and a client that reaches another pod must start a new one: set sessionStorage to a kvstore, or replicas: 1`;

/** Resolves `sessionStorage`. Without it the gateway uses the store of the authorization server, if replicas share that. */
export function resolveSessionStorage(scope: Scope): Pick<GatewayConfig, 'scaling_config'> {
  const { vmcp, platform } = scope;
  const { replicas, sessionAffinity, sessionStorage } = vmcp.spec;
  if (sessionStorage && isStore(vmcp.spec)) {
    return { scaling_config: { session_kvstore: resolveStore(sessionStorage, scope) } };
  }
  if (platform.mode === 'local' || replicasShareSessions(vmcp.spec)) return {};
  // With another affinity the Service sends each client to the same pod.
  if (replicas === undefined && sessionAffinity === 'None') scope.onePod.push('set sessionStorage to a kvstore');
  if (replicas !== undefined && replicas > 1) {
    scope.on(vmcp).warning('SessionStorageMissingForReplicas', 'spec.replicas', unsharedSessions(replicas));
  }
  return {};
}

/** Resolves an explicit `memory` where the gateway would use the store of the authorization server. */
export const resolveMemory = ({ vmcp }: Scope): Pick<GatewayConfig['vmcp'], 'session_storage'> =>
  prefersMemory(vmcp.spec) ? { session_storage: 'memory' } : {};

function resolveStore({ address = '', db, keyPrefix, passwordRef, tls }: SessionStorage, scope: Scope) {
  const report = scope.on(scope.vmcp);
  const read = readStorage({ type: 'kvstore', kvstore_config: { addr: address } });
  if ('problems' in read)
    for (const { reason, message } of read.problems) report.problem(reason, `${PATH}.address`, message);
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

/** Resolves the rate limits. Their buckets are in the store of the sessions. */
export function resolveRateLimits(scope: Scope): Pick<GatewayConfig, 'rate_limit_config'> {
  const limits = scope.vmcp.spec.config?.rateLimiting;
  if (!limits) return {};
  checkReplicas(scope);
  return { rate_limit_config: limits };
}

/** Several pods need a common store. Without `replicas` an autoscaler may start several. */
function checkReplicas(scope: Scope): void {
  const { replicas } = scope.vmcp.spec;
  if (scope.platform.mode === 'local' || (replicas ?? 2) <= 1 || replicasShareStore(scope.vmcp.spec)) return;
  const count = replicas === undefined ? 'an autoscaler may start several pods' : `there are ${String(replicas)} pods`;
  const message = `${count}, and each would allow the whole limit: set sessionStorage to a kvstore, or replicas: 1`;
  scope.on(scope.vmcp).problem('RateLimitingRequiresKvstore', 'spec.config.rateLimiting', message);
}
