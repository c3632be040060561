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
/** Folders in order of preference. The assets of kubebuilder have no kube-controller-manager. */
const FOLDERS = [
  ...(clusterCache === undefined
    ? [join(root, '.cache', 'test-cluster', 'bin'), join(homedir(), '.cache', 'test-cluster', 'bin')]
    : [join(clusterCache, 'bin')]),
  ...[process.env['KUBEBUILDER_ASSETS'] ?? []].flat(),
];

/** Returns the path of a program of the test cluster (`helm`, `kubectl`, `etcd`, ...), or undefined when it is not built. */
export const clusterBinary = (name: string): string | undefined =>
  FOLDERS.map((folder) => join(folder, name)).find((file) => existsSync(file));

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
