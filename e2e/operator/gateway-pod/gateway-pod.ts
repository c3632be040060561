import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Backend, GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import { VMCP } from '../../../gateway/contract/testdata/vmcp-config.ts';
import { inClusterConnection } from '../../../gateway/kube/connection.ts';
import { startGateway, type Gateway } from '../../../gateway/process/gateway.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { unusableFiles } from '../../../operator/cli/unusable-files.ts';
import type { ControlPlaneAddress } from '../../harness/control-plane/control-plane.ts';
import type { ClusterApi, KubeManifest } from '../../harness/control-plane/api.ts';
import { raw } from '../../harness/clients/raw.ts';
import type { Scope } from '../../harness/scope.ts';
import { placeOf } from '../playground.ts';

const NAME = 'desk';
const CONFIG_MAP = `${NAME}-vmcp-backends`;
const ACCOUNT = `${NAME}-vmcp`;
const RBAC = 'rbac.authorization.k8s.io';

/** The objects that the pod of one VirtualMCPServer uses: account, rights and resources. */
export class PodPlace {
  readonly api: ClusterApi;
  readonly namespace: string;
  readonly username: string;
  readonly #server: URL;
  readonly #folder: string;

  private constructor(api: ClusterApi, namespace: string, server: string, folder: string) {
    this.api = api;
    this.namespace = namespace;
    this.username = `system:serviceaccount:${namespace}:${ACCOUNT}`;
    this.#server = new URL(server);
    this.#folder = folder;
  }

  static async make(scope: Scope, api: ClusterApi, address: ControlPlaneAddress, namespace: string): Promise<PodPlace> {
    const folder = await mkdtemp(join(tmpdir(), 'vmcp-pod-'));
    scope.defer(() => rm(folder, { recursive: true, force: true }));
    const place = new PodPlace(api, namespace, address.server, folder);
    await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    for (const object of rights(namespace)) await api.create(object);
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${ACCOUNT}/token`;
    const { body } = await api.send('POST', path, { spec: { expirationSeconds: 3_600 } });
    await writeFile(join(folder, 'token'), (body as { status: { token: string } }).status.token);
    await writeFile(join(folder, 'ca.crt'), await readFile(join(address.folder, 'pki', 'ca.crt'), 'utf8'));
    await writeFile(join(folder, 'namespace'), namespace);
    return place;
  }

  /** Starts a gateway like a pod, with this account, on free ports. */
  async start(scope: Scope, vmcp: Partial<GatewayConfig['vmcp']> = {}, reportingInterval = '1s'): Promise<Gateway> {
    const config: GatewayConfig = {
      schema_version: 'v0.1.0',
      name: NAME,
      group: 'tools',
      vmcp: {
        ...VMCP,
        namespace: this.namespace,
        cluster: {
          mounted_folders: [tmpdir()],
          backends_config_map: CONFIG_MAP,
          virtual_mcp_server: NAME,
          reporting_interval: reportingInterval,
        },
        ...vmcp,
      },
    };
    const gateway = await startGateway({
      servers: [{ config, host: '127.0.0.1', port: 0 }],
      management: { host: '127.0.0.1', port: 0 },
      log: createLog(process.env['GATEWAY_LOG'] === undefined ? new PassThrough().resume() : process.stderr, 'debug'),
      version: '0',
      cluster: { unusableFiles, connection: this.connection() },
    });
    scope.defer(() => gateway.stop(0));
    return gateway;
  }

  connection(): ReturnType<typeof inClusterConnection> {
    const env = { KUBERNETES_SERVICE_HOST: this.#server.hostname, KUBERNETES_SERVICE_PORT: this.#server.port };
    return inClusterConnection(env, this.#folder);
  }

  /** Writes the backends ConfigMap, like the operator. */
  async writeBackends(backends: readonly Backend[], more: object = {}): Promise<void> {
    await this.writeDocument(JSON.stringify({ schema_version: 'v0.1.0', backends, ...more }));
  }

  async writeDocument(document: string): Promise<void> {
    const metadata = { name: CONFIG_MAP, namespace: this.namespace };
    await this.api.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'backends.json': document } });
  }

  deleteBackends(): Promise<void> {
    return this.api.remove(placeOf('ConfigMap', this.namespace, CONFIG_MAP));
  }

  /** Returns the current VirtualMCPServer. */
  async reported(): Promise<KubeManifest & { readonly status?: Reported }> {
    const object = await this.api.get(placeOf('VirtualMCPServer', this.namespace, NAME));
    if (!object) throw new Error('the VirtualMCPServer is gone');
    return object;
  }
}

export interface Reported {
  readonly backendCount?: number;
  readonly discoveredBackends?: readonly Readonly<Record<string, unknown>>[];
  readonly runtimeProblems?: readonly Readonly<Record<string, unknown>>[];
}

function rights(namespace: string): KubeManifest[] {
  const of = (name: string) => ({ name, namespace });
  return [
    { apiVersion: 'vmcp.dev/v1alpha1', kind: 'MCPGroup', metadata: of('tools'), spec: {} },
    {
      apiVersion: 'vmcp.dev/v1alpha1',
      kind: 'VirtualMCPServer',
      metadata: of(NAME),
      spec: { groupRef: { name: 'tools' }, incomingAuth: { type: 'anonymous' } },
    },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: of(ACCOUNT) },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'Role',
      metadata: of(ACCOUNT),
      rules: [
        { apiGroups: [''], resources: ['configmaps'], resourceNames: [CONFIG_MAP], verbs: ['get', 'list', 'watch'] },
        { apiGroups: ['vmcp.dev'], resources: ['virtualmcpservers'], resourceNames: [NAME], verbs: ['get'] },
        {
          apiGroups: ['vmcp.dev'],
          resources: ['virtualmcpservers/status'],
          resourceNames: [NAME],
          verbs: ['get', 'patch', 'update'],
        },
      ],
    },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'RoleBinding',
      metadata: of(ACCOUNT),
      roleRef: { apiGroup: RBAC, kind: 'Role', name: ACCOUNT },
      subjects: [{ kind: 'ServiceAccount', name: ACCOUNT, namespace }],
    },
  ];
}

export const backendAt = (name: string, url: string): Backend => ({
  name,
  transport: 'streamable-http',
  url,
  insecure_allow_http: true,
  allow_private_ips: true,
});

/** Starts an MCP server that answers every second probe with an error. */
export async function flappingBackend(scope: Scope): Promise<string> {
  const asked = new Map<string, number>();
  const server = createServer((req, res) => {
    void text(req).then((body) => {
      const { id, method } = JSON.parse(body) as { id?: number; method?: string };
      const times = (asked.get(req.url ?? '') ?? 0) + 1;
      if (method === 'initialize' || method === 'ping') asked.set(req.url ?? '', times);
      if (times % 2 === 0 && method === 'ping') return res.writeHead(503).end();
      if (id === undefined) return res.writeHead(202).end();
      const result =
        method === 'initialize'
          ? { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'flaps', version: '1' } }
          : {};
      return res
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  scope.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}

/** Requests `/readyz` of a gateway. */
export async function readyz(gateway: Gateway): Promise<{ readonly status: number; readonly body: unknown }> {
  const { status, body } = await raw(`${originOf(gateway)}/readyz`);
  return { status, body: JSON.parse(body) as unknown };
}

export const urlOf = (gateway: Gateway): string => gateway.servers[0]?.mcpUrl ?? '';
export const originOf = (gateway: Gateway): string => new URL(urlOf(gateway)).origin;
