import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { boundaryOf, BoundaryImpossible } from '../../gateway/incoming/boundary-of.ts';
import { createLauncher } from '../../gateway/workloads/runner/launcher.ts';
import { reapOrphans } from '../../gateway/workloads/runner/process/reaper.ts';
import { apiServerOf } from '../../gateway/kube/api-server.ts';
import { startGateway, type ManagedCluster } from '../../gateway/process/gateway.ts';
import type { RootLog } from '../../gateway/telemetry/log.ts';
import { defaultStateDir, openState, userFolders } from '../local/state.ts';
import { defaultConnection } from '../source/kube/kube-config.ts';
import { loginBrowser } from './client/browser.ts';
import { errorCode } from '../../gateway/config-files.ts';
import { type OriginFlags, createCommandLog, type LogFlags } from './flags.ts';
import { untilSignal } from './process.ts';
import { PROJECT_ROOT, VERSION } from './version.ts';
import { decodeUtf8 } from '../../gateway/contract/text/utf8.ts';
import { isObject, type JsonObject } from '../../gateway/contract/json.ts';
import { AuditConfig, auditConfigProblems } from '../../gateway/contract/run-config/audit.ts';
import { readDocument } from '../../gateway/contract/run-config/document.ts';
import { readGatewayConfig } from '../../gateway/read-gateway-config.ts';
import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import type { Problem } from '../../gateway/contract/problem.ts';
import { EXIT, endWith } from './exit.ts';

export interface ServeFlags extends LogFlags, OriginFlags {
  readonly config?: string;
  readonly host: string;
  readonly port: number;
  readonly state?: string;
}

/** `vmcp serve`: runs until a signal. Exit codes: 0 stopped, 2 wrong configuration. */
export async function serve(flags: ServeFlags): Promise<number> {
  const { stderr } = process;
  const config = await readConfig(flags.config, stderr);
  if (!config) return EXIT.invalid;
  try {
    return await run(flags, config, createCommandLog(stderr, flags, 'info'));
  } catch (error) {
    return endWith(error, stderr);
  }
}

async function run(flags: ServeFlags, { protectedBy, audit, cluster }: ServeConfig, log: RootLog): Promise<number> {
  const { host, port } = flags;
  const state = openState(resolve(flags.state ?? defaultStateDir(process.env)));
  const signalled = untilSignal(process.stderr);
  await reapOrphans({ stateDir: state.dir, hostEnv: process.env });
  const launcher = createLauncher({ stateDir: state.dir, projectRoot: PROJECT_ROOT, hostEnv: process.env, log });
  try {
    const url = `http://${host.includes(':') ? `[${host}]` : host}:${String(port)}`;
    const apiServer = apiServerOf(process.env);
    const boundary = protectedBy && boundaryOf(protectedBy, url, { log, now: Date.now, exposed: true, apiServer });
    const folders = userFolders(process.env, process.platform);
    const managed = cluster && (await connectTo(cluster.namespaces));
    const openBrowser = loginBrowser(process.stderr, process.env);
    const api = { stateDir: state.dir, folders, launcher, cluster: managed, openBrowser };
    const gateway = await startGateway({
      servers: [],
      management: { host, port, api, boundary, audit, allowedOrigins: flags.allowApiOrigin },
      allowedOrigins: flags.allowOrigin,
      log,
      version: VERSION,
      launcher,
    });
    process.stdout.write(`The management API listens at ${gateway.managementUrl}/api/v1beta\n`);
    process.stdout.write(`Its description:  ${gateway.managementUrl}/api/openapi.json\nStop with Ctrl-C.\n`);
    await signalled;
    await gateway.stop();
    boundary?.close();
    return EXIT.done;
  } finally {
    await launcher.close();
    state.close();
  }
}

/** Connects to the cluster of the pod or of the kubeconfig. Throws `BoundaryImpossible` without a cluster. */
async function connectTo(namespaces: readonly string[]): Promise<ManagedCluster> {
  const connection = await defaultConnection(process.env, Date.now).catch((error: unknown) => {
    throw new BoundaryImpossible(error);
  });
  const [first = connection.namespace, ...others] = namespaces;
  return { connection, namespaces: [first, ...others] };
}

/** Reads a valid configuration. Otherwise prints the problems and returns undefined. */
async function readConfig(path: string | undefined, stderr: NodeJS.WritableStream): Promise<ServeConfig | undefined> {
  if (path === undefined) return { protectedBy: undefined };
  const bytes = await readFile(resolve(path)).catch((error: unknown) => {
    stderr.write(`${path}: cannot be read (${errorCode(error)}): correct --config\n`);
    return undefined;
  });
  if (bytes === undefined) return undefined;
  const text = decodeUtf8(bytes);
  if (text === undefined) {
    stderr.write(`${path}: is not UTF-8: save it in that encoding\n`);
    return undefined;
  }
  const read = readServeConfig(text);
  if (!('problems' in read)) return read;
  for (const { path: at, message, reason } of read.problems) stderr.write(`${path}: ${at}: ${message} [${reason}]\n`);
  return undefined;
}

/** Content of the file of `vmcp serve --config`. */
interface ServeConfig {
  /** Configuration whose boundary 1 protects the API; undefined without `auth`. */
  readonly protectedBy: GatewayConfig | undefined;
  /** Audit log of the API; absent without `audit`. */
  readonly audit?: AuditConfig;
  /** Present when workloads are those of a cluster. */
  readonly cluster?: {
    /** Served namespaces; that of the connection when empty. */
    readonly namespaces: readonly string[];
  };
}

const MEMBERS = ['auth', 'audit', 'workloads', 'namespaces'];
const AUTH_TYPES = ['oidc', 'kubernetes'];
/** Default `aud` of service account tokens. */
const AUDIENCE = 'vmcp';
const NAMESPACE = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/u;

const invalid = (path: string, message: string): Problem => ({ reason: 'Invalid', path, message });

/** Reads the configuration of `vmcp serve`. Pure. */
export function readServeConfig(text: string): ServeConfig | { readonly problems: readonly Problem[] } {
  const document = parsed(text);
  if (!isObject(document)) return { problems: [invalid('.', 'must be a JSON object')] };
  const { auth, workloads = 'local', namespaces = [] } = document;
  const audit = readAudit(document['audit']);
  const problems = [
    ...unknownMembers(document),
    ...placeProblems(workloads, namespaces),
    ...authProblems(auth),
    ...('problems' in audit ? audit.problems : []),
  ];
  const cluster = workloads === 'kubernetes' && { cluster: { namespaces: namespaces as readonly string[] } };
  const others = { ...cluster, ...('audit' in audit && audit) };
  if (auth === undefined) return problems.length > 0 ? { problems } : { protectedBy: undefined, ...others };
  const read = readGatewayConfig(JSON.stringify(gatewayConfigWith(auth)));
  if ('config' in read && problems.length === 0) return { protectedBy: read.config, ...others };
  return { problems: [...problems, ...('problems' in read ? read.problems.map(ofAuth) : [])] };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

const unknownMembers = (document: JsonObject): Problem[] =>
  Object.keys(document)
    .filter((name) => !MEMBERS.includes(name))
    .map((name) => ({ reason: 'UnknownField', path: name, message: `unknown field: use ${MEMBERS.join(', ')}` }));

function placeProblems(workloads: unknown, namespaces: unknown): Problem[] {
  if (workloads !== 'local' && workloads !== 'kubernetes')
    return [invalid('workloads', 'must be "local" or "kubernetes"')];
  const names: readonly unknown[] = Array.isArray(namespaces) ? namespaces : [undefined];
  const isList = names.every((name) => typeof name === 'string' && NAMESPACE.test(name));
  if (!isList || new Set(names).size < names.length)
    return [invalid('namespaces', 'must be a list of different names of namespaces')];
  if (workloads === 'local' && names.length > 0)
    return [invalid('namespaces', 'needs "workloads": "kubernetes": add it, or remove this field')];
  return [];
}

/** Requires the accounts of service account tokens: every pod of a cluster can get a token for any audience. */
function authProblems(auth: unknown): Problem[] {
  if (!isObject(auth)) return [];
  const { type = 'oidc', serviceAccount, namespace } = auth;
  if (typeof type !== 'string' || !AUTH_TYPES.includes(type))
    return [invalid('auth.type', `must be ${AUTH_TYPES.map((each) => `"${each}"`).join(' or ')}`)];
  if (type === 'kubernetes' && serviceAccount === undefined && namespace === undefined) {
    const message = 'set serviceAccount to NAMESPACE:NAME, or namespace: else every pod of the cluster has access';
    return [{ reason: 'MissingField', path: 'auth.serviceAccount', message }];
  }
  return [];
}

/** The fields are those of `audit_config` of a run configuration. */
function readAudit(audit: unknown): { readonly audit?: AuditConfig } | { readonly problems: readonly Problem[] } {
  if (audit === undefined) return {};
  if (!isObject(audit)) return { problems: [{ reason: 'InvalidType', path: 'audit', message: 'must be an object' }] };
  const read = readDocument(AuditConfig, audit);
  const problems = 'problems' in read ? read.problems : auditConfigProblems(read.config);
  if ('config' in read && problems.length === 0) return { audit: read.config };
  return { problems: problems.map((problem) => ({ ...problem, path: `audit.${problem.path}` })) };
}

/** A gateway without backends whose clients bring tokens of that issuer. */
const gatewayConfigWith = (auth: unknown): unknown => ({
  schema_version: 'v0.1.0',
  name: 'management',
  ...boundaryWith(auth),
});

function boundaryWith(auth: unknown): object {
  if (!isObject(auth)) return { oidc_config: auth, vmcp: withoutBackends({ source: 'inline' }) };
  const { type, serviceAccount, namespace, ...oidc } = auth;
  if (type !== 'kubernetes') {
    const others = {
      ...(serviceAccount !== undefined && { serviceAccount }),
      ...(namespace !== undefined && { namespace }),
    };
    return { oidc_config: { ...oidc, ...others }, vmcp: withoutBackends({ source: 'inline' }) };
  }
  const accounts = {
    ...(serviceAccount !== undefined && { service_account: serviceAccount }),
    ...(namespace !== undefined && { namespace }),
  };
  // With a key set of its own the API is outside of the cluster.
  const isInPod = oidc['jwksurl'] === undefined;
  return {
    oidc_config: { audience: AUDIENCE, ...oidc },
    vmcp: withoutBackends({ source: 'kubernetes', use_cluster_auth: isInPod, ...accounts }),
  };
}

const withoutBackends = (incoming: object): object => ({
  backends: [],
  aggregation: { conflict_resolution: 'prefix', prefix_format: '{workload}_', default_tool_visibility: 'allow' },
  incoming: { type: 'oidc', ...incoming },
  operational: {
    timeouts: { default: '30s' },
    failure_handling: {
      health_check_interval: '30s',
      health_check_timeout: '10s',
      unhealthy_threshold: 3,
      circuit_breaker: { enabled: false, failure_threshold: 5, timeout: '60s' },
    },
  },
});

/** Paths of the rendered configuration, and the paths in the file that they come from. */
const SOURCES: readonly (readonly [RegExp, string])[] = [
  [/^oidc_config/u, 'auth'],
  [/^vmcp\.incoming\.service_account/u, 'auth.serviceAccount'],
  [/^vmcp\.incoming\.namespace/u, 'auth.namespace'],
];

function ofAuth(problem: Problem): Problem {
  const path = SOURCES.reduce((text, [from, to]) => text.replace(from, to), problem.path);
  return { ...problem, path, message: problem.message.replaceAll('oidc_config.', 'auth.') };
}
