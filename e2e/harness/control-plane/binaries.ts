import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { root } from '../vmcp.ts';

/** Paths of the programs of a control plane without nodes. */
export interface ControlPlaneBinaries {
  readonly etcd: string;
  readonly apiserver: string;
  readonly controllerManager: string;
}

const clusterCache = process.env['CLUSTER_CACHE'];
/** Folders that e2e/cluster/build.sh writes to, in order of preference. */
const CACHES =
  clusterCache === undefined
    ? [join(root, '.cache', 'test-cluster'), join(homedir(), '.cache', 'test-cluster')]
    : [clusterCache];
/** The assets of kubebuilder have no kube-controller-manager. */
const FOLDERS = [...CACHES.map((cache) => join(cache, 'bin')), ...[process.env['KUBEBUILDER_ASSETS'] ?? []].flat()];

const firstThere = (files: readonly string[]): string | undefined => files.find((file) => existsSync(file));

/** Returns the path of a program of the test cluster (`helm`, `kubectl`, `etcd`, ...), or undefined when it is not built. */
export const clusterBinary = (name: string): string | undefined =>
  firstThere(FOLDERS.map((folder) => join(folder, name)));

/** Returns the path of a file in the folder of the build of the test cluster, or undefined when it does not exist. */
export const clusterFile = (path: string): string | undefined => firstThere(CACHES.map((cache) => join(cache, path)));

/** Finds the programs. @throws Error with the command that builds a missing program */
export function controlPlaneBinaries(): ControlPlaneBinaries {
  const need = (name: string): string => {
    const file = clusterBinary(name);
    if (file === undefined)
      throw new Error(`${name} is in none of ${FOLDERS.join(', ')}: run make cluster-binaries, or set CLUSTER_CACHE`);
    return file;
  };
  return {
    etcd: need('etcd'),
    apiserver: need('kube-apiserver'),
    controllerManager: need('kube-controller-manager'),
  };
}
