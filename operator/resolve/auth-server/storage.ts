import type { KvstoreConfig, StorageConfig } from '../../../gateway/contract/run-config-auth-server-storage.ts';
import { kvstoreFaults } from '../../../gateway/authserver/storage/kvstore/settings.ts';
import { isKvstore } from '../../../crds/kinds/session-storage.ts';
import type { Scope } from '../scope.ts';
import { hasReplicas } from './keys.ts';
import { AUTH_SERVER_PATH, type AuthServerSpec } from './spec.ts';

type KvstoreSpec = NonNullable<NonNullable<AuthServerSpec['storage']>['kvstore']>;
type TlsSpec = NonNullable<KvstoreSpec['tls']>;

const PATH = `${AUTH_SERVER_PATH}.storage`;

/** Where logins are kept. */
export function resolveStorage({ storage = {} }: AuthServerSpec, scope: Scope): StorageConfig {
  const { maxDCRClients, kvstore } = storage;
  const most = maxDCRClients !== undefined && { max_dcr_clients: maxDCRClients };
  if (!isKvstore(storage.type) || !kvstore) {
    checkMemory(scope);
    return { type: 'memory', ...most };
  }
  const config = resolveKvstore(kvstore, scope);
  for (const { member, message } of kvstoreFaults(config)) {
    scope.on(scope.vmcp).problem('InvalidValue', `${PATH}.kvstore.${fieldOf(member)}`, message);
  }
  return { type: 'kvstore', ...most, kvstore_config: config };
}

function checkMemory(scope: Scope): void {
  if (scope.platform.mode === 'local') return;
  const report = scope.on(scope.vmcp);
  const advice = 'set storage.type: kvstore';
  report.warning('EphemeralStorage', PATH, `a restart of the pod ends every login and forgets every client: ${advice}`);
  if (!hasReplicas(scope)) return;
  const message = `logins in the memory of one pod are unknown to the others: ${advice} in authServerConfig, or set replicas: 1`;
  report.problem('ReplicasShareNothing', 'spec.replicas', message);
}

function resolveKvstore(spec: KvstoreSpec, scope: Scope): KvstoreConfig {
  const { addr, clusterMode, aclUserConfig: user, tls, sentinelTls } = spec;
  const { name } = scope.vmcp.metadata;
  const sentinels = resolveSentinels(spec, scope);
  return {
    ...(addr !== undefined && { addr }),
    ...(clusterMode === true && { cluster_mode: true }),
    ...(sentinels && { sentinel_config: sentinels }),
    ...(user && {
      auth_type: 'aclUser',
      acl_user_config: {
        password_file: scope.mount('Secret', user.passwordSecretRef.name, user.passwordSecretRef.key),
        ...(user.usernameSecretRef && {
          username_file: scope.mount('Secret', user.usernameSecretRef.name, user.usernameSecretRef.key),
        }),
      },
    }),
    ...(spec.dialTimeout !== undefined && { dial_timeout: spec.dialTimeout }),
    ...(spec.readTimeout !== undefined && { read_timeout: spec.readTimeout }),
    ...(spec.writeTimeout !== undefined && { write_timeout: spec.writeTimeout }),
    ...(tls && { tls: resolveTls(tls, `${PATH}.kvstore.tls`, scope) }),
    ...(sentinelTls && { sentinel_tls: resolveTls(sentinelTls, `${PATH}.kvstore.sentinelTls`, scope) }),
    key_prefix: `vmcp:auth:{${scope.snapshot.namespace}:${name}}:`,
  };
}

function resolveSentinels({ sentinelConfig: spec }: KvstoreSpec, scope: Scope): KvstoreConfig['sentinel_config'] {
  if (!spec) return undefined;
  const { masterName, db, sentinelAddrs, sentinelService: service } = spec;
  return {
    master_name: masterName,
    ...(db !== undefined && { db }),
    sentinel_addrs: service ? [serviceAddress(service, scope)] : (sentinelAddrs ?? []),
  };
}

type Service = NonNullable<NonNullable<KvstoreSpec['sentinelConfig']>['sentinelService']>;

const DEFAULT_SENTINEL_PORT = 26_379;

function serviceAddress({ name, namespace, port = DEFAULT_SENTINEL_PORT }: Service, scope: Scope): string {
  const address = `${name}.${namespace ?? scope.snapshot.namespace}.svc.cluster.local:${String(port)}`;
  if (scope.platform.mode === 'local') {
    const message = `nothing outside a cluster is at ${address}: list sentinelAddrs instead`;
    scope.on(scope.vmcp).warning('ClusterOnly', `${PATH}.kvstore.sentinelConfig.sentinelService`, message);
  }
  return address;
}

function resolveTls({ caCertSecretRef: ca, insecureSkipVerify }: TlsSpec, path: string, scope: Scope) {
  if (insecureSkipVerify === true) {
    const message = 'whoever is on the way can be the store: put its certificate authority into caCertSecretRef';
    scope.on(scope.vmcp).warning('UnverifiedCertificate', `${path}.insecureSkipVerify`, message);
  }
  return {
    ...(ca && { ca_cert_file: scope.mount('Secret', ca.name, ca.key) }),
    ...(insecureSkipVerify === true && { insecure_skip_verify: true }),
  };
}

const fieldOf = (member: string): string =>
  member.replaceAll(/_([a-z])/gu, (_, letter: string) => letter.toUpperCase());
