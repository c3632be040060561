import type { ObjectProblem, ObjectRef } from './problems.ts';
import type { Snapshot, VirtualMCPServer } from './snapshot.ts';

/** Facts about where the gateway will run. Paths are those that the gateway will see. */
export interface Platform {
  readonly mode: 'local' | 'cluster';
  /** A Secret's key stands in the file `<secretsDir>/<secret>/<key>`. */
  readonly secretsDir: string;
  /** A ConfigMap's key stands in the file `<configMapsDir>/<configmap>/<key>`. */
  readonly configMapsDir: string;
  /** Local mode: whether docker or podman answers; absent when nobody asked. */
  readonly containerEngine?: boolean;
}

/** A file that must stand at `path` before the gateway starts. */
export interface Mount {
  readonly kind: 'Secret' | 'ConfigMap';
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
  readonly path: string;
  /** In a cluster: the gateway starts without it, and gets it once it is there. */
  readonly optional?: true;
}

/** Takes what is wrong with one object. Paths are JSON paths from its root, such as `spec.groupRef.name`. */
export interface Report {
  problem(reason: string, path: string, message: string): void;
  /** For what works but is probably not what was meant. */
  warning(reason: string, path: string, message: string): void;
}

/** What the judgement of one object reads and collects. */
export interface ObjectScope {
  readonly snapshot: Snapshot;
  readonly platform: Platform;
  readonly problems: ObjectProblem[];
  readonly warnings: ObjectProblem[];
  readonly mounts: Map<string, Mount>;
  on(object: Identified): Report;
  /** Asks for a file, and returns its path. */
  mount(kind: Mount['kind'], name: string, key: string): string;
}

/** What the resolution of one VirtualMCPServer, or of one of its members, reads and collects. */
export interface Scope extends ObjectScope {
  readonly vmcp: VirtualMCPServer;
}

export interface Identified {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

export const newScope = (vmcp: VirtualMCPServer, snapshot: Snapshot, platform: Platform): Scope => ({
  ...newObjectScope(snapshot, platform),
  vmcp,
});

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
      const path = `${kind === 'Secret' ? platform.secretsDir : platform.configMapsDir}/${name}/${key}`;
      mounts.set(path, { kind, namespace, name, key, path });
      return path;
    },
  };
}

/** Adds to a scope what another one has collected. */
export function absorb(scope: ObjectScope, { problems, warnings, mounts }: ObjectScope): void {
  scope.problems.push(...problems);
  scope.warnings.push(...warnings);
  for (const [path, mount] of mounts) scope.mounts.set(path, mount);
}

/** A report that appends to the given lists. */
export function reportInto(object: ObjectRef, problems: ObjectProblem[], warnings: ObjectProblem[]): Report {
  return {
    problem: (reason, path, message) => void problems.push({ ...object, path, reason, message }),
    warning: (reason, path, message) => void warnings.push({ ...object, path, reason, message }),
  };
}
