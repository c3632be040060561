import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { ClusterApi, type KubeManifest } from './api.ts';
import { controlPlaneBinaries, type ControlPlaneBinaries } from './binaries.ts';
import { makeCertificates, type ClientCertificate } from './certificates.ts';
import { daemon, type Daemon } from './daemon.ts';
import { freePort } from '../free-port.ts';
import { eventually } from '../poll.ts';
import type { Scope } from '../scope.ts';
import { root } from '../vmcp.ts';

/** Address of a control plane, for other processes. */
export interface ControlPlaneAddress {
  readonly server: string;
  readonly etcdUrl: string;
  readonly folder: string;
}

/** etcd, kube-apiserver and kube-controller-manager on loopback, with the CRDs; no nodes, so that no pod ever runs. */
export interface ControlPlane extends ControlPlaneAddress {
  readonly etcd: Daemon;
  readonly apiserver: Daemon;
  readonly controllerManager: Daemon;
}

const AUDIT_POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [
    // With the bodies of writes by ServiceAccounts, a failed test shows the content of a needless write.
    {
      level: 'Request',
      verbs: ['create', 'update', 'patch', 'delete', 'deletecollection'],
      userGroups: ['system:serviceaccounts'],
      resources: [
        { group: 'vmcp.dev' },
        { group: 'apps' },
        { group: 'rbac.authorization.k8s.io' },
        { group: '', resources: ['services', 'configmaps', 'serviceaccounts'] },
      ],
    },
    { level: 'Metadata' },
  ],
};

/** Returns the path of the audit log. */
export const auditLogOf = ({ folder }: Pick<ControlPlaneAddress, 'folder'>): string => join(folder, 'audit.log');
export const adminKubeconfigOf = ({ folder }: Pick<ControlPlaneAddress, 'folder'>): string =>
  join(folder, 'admin.kubeconfig');

/** Returns a client with all permissions, for the test itself. */
export async function adminApi(scope: Scope, address: ControlPlaneAddress): Promise<ClusterApi> {
  const pem = (file: string) => readFile(join(address.folder, 'pki', file), 'utf8');
  const [ca, cert, key] = await Promise.all([pem('ca.crt'), pem('admin.crt'), pem('admin.key')]);
  const api = new ClusterApi({ server: address.server, ca, certificate: { cert, key } });
  scope.defer(() => api.close());
  return api;
}

/** Writes a kubeconfig for a bearer token or a certificate. */
export async function writeKubeconfig(
  file: string,
  { server, ca, namespace }: { readonly server: string; readonly ca: string; readonly namespace?: string },
  user: { readonly token: string } | ClientCertificate,
): Promise<string> {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const credentials =
    'token' in user
      ? { token: user.token }
      : { 'client-certificate-data': base64(user.cert), 'client-key-data': base64(user.key) };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': base64(ca) } }],
    users: [{ name: 'me', user: credentials }],
    contexts: [
      { name: 'test', context: { cluster: 'test', user: 'me', ...(namespace !== undefined && { namespace }) } },
    ],
    'current-context': 'test',
  };
  await writeFile(file, stringify(config), { mode: 0o600 });
  return file;
}

export interface ControlPlaneOptions {
  /** Requests per second of each controller; 20 is the default of Kubernetes, 500 here. */
  readonly controllerQps?: number;
}

/** Starts a control plane in a new folder and installs the CRDs; takes about 4 s. It ends with the scope. */
export async function startControlPlane(
  scope: Scope,
  { controllerQps = 500 }: ControlPlaneOptions = {},
): Promise<ControlPlane> {
  const binaries = controlPlaneBinaries();
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-control-plane-'));
  scope.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }));
  await mkdir(join(folder, 'pki'));
  const certificates = await makeCertificates(join(folder, 'pki'));
  await writeFile(join(folder, 'audit-policy.yaml'), stringify(AUDIT_POLICY));
  const port = await freePort(3);
  const address = { server: `https://127.0.0.1:${port}`, etcdUrl: `http://127.0.0.1:${port + 1}`, folder };
  const probe = new ClusterApi({ ...address, ca: certificates.ca, certificate: certificates.admin });
  scope.defer(() => probe.close());
  const daemons = daemonsOf(binaries, { ...address, port, probe, controllerQps });
  scope.defer(() => Promise.all(Object.values(daemons).map((each) => each.stop())));
  await writeKubeconfig(adminKubeconfigOf(address), { ...address, ca: certificates.ca }, certificates.admin);
  const controllerConfig = join(folder, 'controller-manager.kubeconfig');
  await writeKubeconfig(controllerConfig, { ...address, ca: certificates.ca }, certificates.controllerManager);
  await daemons.etcd.start();
  await daemons.apiserver.start();
  // Before the controllers: the garbage collector discovers new kinds only twice a minute.
  await installCrds(probe);
  await daemons.controllerManager.start();
  return { ...address, ...daemons };
}

interface Layout extends ControlPlaneAddress {
  readonly port: number;
  readonly probe: ClusterApi;
  readonly controllerQps: number;
}

function daemonsOf(binaries: ControlPlaneBinaries, layout: Layout) {
  const { folder, port, etcdUrl, probe } = layout;
  const answersOk = async (url: string): Promise<boolean> =>
    (await fetch(url, { signal: AbortSignal.timeout(2_000) })).ok;
  const start = (name: string, file: string, args: readonly string[], ready: () => Promise<boolean>): Daemon =>
    daemon({ name, file, args, log: join(folder, `${name}.log`), ready });
  const peers = `http://127.0.0.1:${port + 2}`;
  const etcdArgs = ['--data-dir', join(folder, 'etcd'), '--unsafe-no-fsync', '--log-level', 'warn'];
  const etcdUrls = ['--listen-client-urls', etcdUrl, '--advertise-client-urls', etcdUrl, '--listen-peer-urls', peers];
  return {
    etcd: start('etcd', binaries.etcd, [...etcdArgs, ...etcdUrls], () => answersOk(`${etcdUrl}/health`)),
    apiserver: start('kube-apiserver', binaries.apiserver, apiserverFlags(layout), async () => {
      return (await probe.send('GET', '/readyz')).status === 200;
    }),
    controllerManager: start(
      'kube-controller-manager',
      binaries.controllerManager,
      controllerFlags(layout),
      async () => {
        // The controller manager creates the default ServiceAccount of each namespace.
        return (
          (await probe.get({ apiVersion: 'v1', kind: 'ServiceAccount', namespace: 'default', name: 'default' })) !==
          undefined
        );
      },
    ),
  };
}

const apiserverFlags = ({ folder, port, etcdUrl }: Layout): string[] => [
  `--etcd-servers=${etcdUrl}`,
  '--bind-address=127.0.0.1',
  '--advertise-address=127.0.0.1',
  `--secure-port=${port}`,
  '--endpoint-reconciler-type=none',
  '--service-cluster-ip-range=10.96.0.0/16',
  '--authorization-mode=Node,RBAC',
  `--client-ca-file=${join(folder, 'pki', 'ca.crt')}`,
  `--tls-cert-file=${join(folder, 'pki', 'apiserver.crt')}`,
  `--tls-private-key-file=${join(folder, 'pki', 'apiserver.key')}`,
  '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
  `--service-account-key-file=${join(folder, 'pki', 'sa.pub')}`,
  `--service-account-signing-key-file=${join(folder, 'pki', 'sa.key')}`,
  '--profiling=false',
  `--audit-policy-file=${join(folder, 'audit-policy.yaml')}`,
  `--audit-log-path=${auditLogOf({ folder })}`,
  '--audit-log-maxsize=4096', // MiB; the tests do not read rotated files
];

/** Controllers that act on objects; none for nodes, volumes or certificates. */
const CONTROLLERS = [
  'deployment-controller',
  'replicaset-controller',
  'statefulset-controller',
  'disruption-controller',
  'garbage-collector-controller',
  'namespace-controller',
  'resourcequota-controller',
  'serviceaccount-controller',
  'root-ca-certificate-publisher-controller',
  'horizontal-pod-autoscaler-controller',
];

const controllerFlags = ({ folder, controllerQps }: Layout): string[] => {
  const config = join(folder, 'controller-manager.kubeconfig');
  return [
    `--kubeconfig=${config}`,
    `--authentication-kubeconfig=${config}`,
    `--authorization-kubeconfig=${config}`,
    `--controllers=${CONTROLLERS.join(',')}`,
    `--root-ca-file=${join(folder, 'pki', 'ca.crt')}`,
    `--service-account-private-key-file=${join(folder, 'pki', 'sa.key')}`,
    '--use-service-account-credentials=true',
    '--leader-elect=false',
    '--horizontal-pod-autoscaler-sync-period=1s',
    '--secure-port=0',
    '--profiling=false',
    `--kube-api-qps=${controllerQps}`,
    `--kube-api-burst=${1.5 * controllerQps}`,
  ];
};

/** Applies crds/*.yaml and waits until the API server serves each kind, which is some time after Established. */
async function installCrds(api: ClusterApi): Promise<void> {
  const folder = join(root, 'crds');
  const files = (await readdir(folder)).filter((file) => file.endsWith('.yaml'));
  const crds = await Promise.all(
    files.map(async (file) => parse(await readFile(join(folder, file), 'utf8')) as KubeManifest),
  );
  await Promise.all(crds.map((crd) => api.create(crd)));
  await Promise.all(
    crds.map(({ metadata, spec }) =>
      eventually(`${metadata.name} is served`, async () => {
        const { group, names, versions } = spec as {
          group: string;
          names: { plural: string };
          versions: { name: string }[];
        };
        const path = `/apis/${group}/${versions[0]?.name ?? ''}/${names.plural}`;
        return (await api.send('GET', path)).status === 200;
      }),
    ),
  );
}
