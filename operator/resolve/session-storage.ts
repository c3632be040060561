import { readStorage, storeFacts } from '../../gateway/authserver/storage/index.ts';
import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import type { Scope } from './scope.ts';
import type { VirtualMCPServer } from './snapshot.ts';

type Spec = VirtualMCPServer['spec'];
type SessionStorage = NonNullable<Spec['sessionStorage']>;

const PATH = 'spec.sessionStorage';

const isStore = ({ sessionStorage }: Spec): boolean => storeFacts(sessionStorage?.provider).isShared;
const isAuthServerStore = ({ authServerConfig }: Spec): boolean => storeFacts(authServerConfig?.storage?.type).isShared;

/** Returns true when all replicas have one store, which holds rate limits at least. */
export const replicasShareStore = (spec: Spec): boolean => isStore(spec) || isAuthServerStore(spec);

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
