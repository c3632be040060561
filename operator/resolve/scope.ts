import type { Problem } from '../../gateway/contract/problem.ts';
import type { Snapshot, VirtualMCPServer } from './snapshot.ts';

/** Names one object of the resources; `kind` as written in the object. */
export interface ObjectRef {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export const refKey = ({ kind, namespace, name }: ObjectRef): string => `${kind}/${namespace}/${name}`;

/** Problem with the object that has it, which need not be the object being resolved. */
export interface ObjectProblem extends Problem, ObjectRef {}

/** Reason of a problem that only repeats that a referenced object has problems. */
export const CONSEQUENCE_REASON = 'ReferencedObjectInvalid';

/** Removes repeated problems and keeps the order. */
export function distinct<P extends ObjectProblem>(problems: readonly P[]): P[] {
  const seen = new Set<string>();
  return problems.filter((problem) => {
    const key = JSON.stringify([
      problem.kind,
      problem.namespace,
      problem.name,
      problem.path,
      problem.reason,
      problem.message,
    ]);
    return !seen.has(key) && seen.add(key);
  });
}

/** Environment of the gateway. Paths are those of its file system. */
export interface Platform {
  readonly mode: 'local' | 'cluster';
  /** Folder of Secrets: a key is the file `<secretsDir>/<secret>/<key>`. */
  readonly secretsDir: string;
  /** Folder of ConfigMaps: a key is the file `<configMapsDir>/<configmap>/<key>`. */
  readonly configMapsDir: string;
  /** Networks of the proxies in front of virtual servers that list none. */
  readonly trustedProxies?: readonly string[];
  /** Local mode: folder of the option `--secrets-dir`; absent without the option. */
  readonly secretsOption?: string;
  /** Local mode: true when docker or podman responds; absent when that was not checked. */
  readonly containerEngine?: boolean;
  /** True for files of a cluster: it has Secrets and ConfigMaps that are not in the files. */
  readonly hasMoreData?: boolean;
}

/** File that must exist at `path` before the gateway starts. */
export interface Mount {
  readonly kind: 'Secret' | 'ConfigMap' | 'HostVariable';
  readonly namespace: string;
  /** Name of the object; of the MCPServer that reads a host variable. */
  readonly name: string;
  /** Key in the object; name of the host variable. */
  readonly key: string;
  readonly path: string;
  /** True in a cluster when the gateway starts without the file and reads it when it appears. */
  readonly optional?: true;
}

/** Collects the problems of one object. Paths are JSON paths from its root, such as `spec.groupRef.name`. */
export interface Report {
  problem(reason: string, path: string, message: string): void;
  /** Reports a setting that works but is probably unintended. */
  warning(reason: string, path: string, message: string): void;
}

/** Input and collected results of checking one object. */
export interface ObjectScope {
  readonly snapshot: Snapshot;
  readonly platform: Platform;
  readonly problems: ObjectProblem[];
  readonly warnings: ObjectProblem[];
  readonly mounts: Map<string, Mount>;
  on(object: Identified): Report;
  /** Requests a file and returns its path. */
  mount(kind: Mount['kind'], name: string, key: string): string;
}

/** Input and collected results of resolving one VirtualMCPServer or one of its members. */
export interface Scope extends ObjectScope {
  readonly vmcp: VirtualMCPServer;
  /** MCP endpoint inside the cluster. */
  readonly endpoint: string;
  /** Name in the keys of stores, unique in the namespace. */
  readonly storeName: string;
  readonly terms: Terms;
  /** Changes that several pods would need, for an absent number of pods. While there are any, only a single pod can serve. */
  readonly onePod: string[];
}

/** Words of a sentence that differ by the kind on which it is shown. */
export interface Terms {
  /** The object that has the gateway, as `Kind "name"`. */
  readonly owner: string;
  /** Field that gives the gateway an authorization server. */
  readonly authServer: string;
  /** Block with the settings of that server. */
  readonly authServerBlock: string;
  /** Field with the scopes that clients need. */
  readonly scopes: string;
  /** Advice to authenticate clients, and to trust the proxies in front. */
  readonly authenticate: string;
  readonly trustProxies: string;
  /** Returns the field to name for a field of a VirtualMCPServer. */
  readonly field: (path: string) => string;
}

export interface Identified {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

export const newScope = (
  vmcp: VirtualMCPServer,
  snapshot: Snapshot,
  platform: Platform,
  place: Place = placeOf(vmcp.metadata.name, snapshot.namespace),
): Scope => ({ ...newObjectScope(snapshot, platform), onePod: [], ...place, vmcp });

/** Members of a scope that follow from the object that has the gateway. */
type Place = Pick<Scope, 'endpoint' | 'storeName' | 'terms'>;

const placeOf = (name: string, namespace: string): Place => ({
  endpoint: endpointOf(name, namespace),
  storeName: name,
  terms: termsOf(name),
});

const termsOf = (name: string): Terms => ({
  owner: `VirtualMCPServer "${name}"`,
  authServer: 'authServerConfig',
  authServerBlock: 'authServerConfig',
  scopes: 'the scopes of incomingAuth',
  authenticate: 'set its incomingAuth.type to oidc',
  trustProxies: 'list the networks of the Ingress or proxy in front',
  field: (path) => path,
});

/** Returns the MCP endpoint of a VirtualMCPServer in a cluster. */
export const endpointOf = (name: string, namespace: string): string =>
  `http://vmcp-${name}.${namespace}.svc.cluster.local:4483/mcp`;

/** Returns the networks of proxies whose `X-Forwarded-For` counts: those of the virtual server, else of the platform. */
export const trustedProxiesOf = ({ vmcp, platform }: Pick<Scope, 'vmcp' | 'platform'>): readonly string[] =>
  vmcp.spec.incomingAuth.trustedProxies ?? platform.trustedProxies ?? [];

export function newObjectScope(snapshot: Snapshot, platform: Platform): ObjectScope {
  const { namespace } = snapshot;
  const problems: ObjectProblem[] = [];
  const warnings: ObjectProblem[] = [];
  const mounts = new Map<string, Mount>();
  return {
    snapshot,
    platform,
    problems,
    warnings,
    mounts,
    on: ({ kind, metadata: { name } }) => reportInto({ kind, namespace, name }, problems, warnings),
    mount(kind, name, key) {
      const path = `${folderOf(kind, name, platform)}/${key}`;
      mounts.set(path, { kind, namespace, name, key, path });
      return path;
    },
  };
}

function folderOf(kind: Mount['kind'], name: string, { secretsDir, configMapsDir }: Platform): string {
  if (kind === 'ConfigMap') return `${configMapsDir}/${name}`;
  return `${secretsDir}/${kind === 'Secret' ? name : hostVariablesFolder(name)}`;
}

/** Returns the folder beside those of Secrets with the host variables of an MCPServer. A Secret's name has no `_`. */
export const hostVariablesFolder = (server: string): string => `${server}_env`;

/** Adds the results of another scope to a scope. */
export function absorb(scope: ObjectScope, { problems, warnings, mounts }: ObjectScope): void {
  scope.problems.push(...problems);
  scope.warnings.push(...warnings);
  for (const [path, mount] of mounts) scope.mounts.set(path, mount);
}

/** Returns a report that appends to the given lists. */
export function reportInto(object: ObjectRef, problems: ObjectProblem[], warnings: ObjectProblem[]): Report {
  return {
    problem: (reason, path, message) => void problems.push({ ...object, path, reason, message }),
    warning: (reason, path, message) => void warnings.push({ ...object, path, reason, message }),
  };
}
