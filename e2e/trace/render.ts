import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { CLUSTER_PLATFORM, renderVirtualMCPServer } from '../../operator/render/index.ts';
import { resolveAll } from '../../operator/resolve/resolve-all.ts';
import { loadManifests } from '../../operator/source/files/load.ts';
import { byFile, ranBelow } from './trace.ts';

/**
 * `npm run trace-render [-- FILE]`: prints the files and functions of the repository that run for a manifest, from reading the file
 * until the Deployment of its VirtualMCPServer is rendered. Loading modules is not counted.
 */
const root = join(import.meta.dirname, '..', '..');
const manifest = process.argv[2] ?? join(root, 'examples', 'quickstart', 'quickstart.yaml');

const SETTINGS = {
  gatewayImage: 'vmcp-gateway:1',
  imagePullPolicy: 'IfNotPresent',
  imagePullSecrets: [],
  openshift: false,
  podDisruptionBudgets: true,
  networkPolicies: true,
};

async function renderFile(file: string): Promise<number> {
  const { snapshots } = await loadManifests([file]);
  const rendered = resolveAll({ snapshots }, CLUSTER_PLATFORM).servers.map(({ namespace, name, config, mounts }) => {
    const vmcp = snapshots.get(namespace)?.vmcps.get(name);
    const owner = { apiVersion: 'vmcp.dev/v1alpha1', kind: 'VirtualMCPServer', name, uid: '1' };
    return vmcp && config && renderVirtualMCPServer(vmcp, { config, mounts }, owner, SETTINGS);
  });
  return rendered.filter((each) => each && 'objects' in each && each.objects.some(({ kind }) => kind === 'Deployment'))
    .length;
}

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
await renderFile(manifest); // what is computed once, at first use
await session.post('Profiler.takePreciseCoverage');
const deployments = await renderFile(manifest);
const { result } = await session.post('Profiler.takePreciseCoverage');

const functions = ranBelow(root, result).filter(({ file }) => !file.startsWith('e2e/'));
const files = [...byFile(functions)].toSorted(([a], [b]) => (a < b ? -1 : 1));
for (const [file, names] of files) console.log(`${file}: ${names.join(', ')}`);
console.log(
  `${String(files.length)} files and ${String(functions.length)} functions of the repository run until ${String(deployments)} Deployment is rendered`,
);
