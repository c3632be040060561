import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DiscoveredBackends } from '../../gateway/contract/discovered-backends.ts';
import { readDocument } from '../../gateway/contract/run-config-document.ts';
import { exportRunConfig, importRunConfig } from '../../gateway/contract/run-config-document.ts';
import type { KubeObject } from '../../gateway/kube/resource.ts';
import { readGatewayConfig } from '../../gateway/read-gateway-config.ts';
import { resolveAll } from '../resolve/resolve-all.ts';
import type { Snapshot } from '../resolve/snapshot.ts';
import { loadManifests } from '../source/files/load.ts';
import {
  CLUSTER_PLATFORM,
  renderMCPServer,
  renderVirtualMCPServer,
  type Rendered,
  type RenderOptions,
} from './index.ts';

const dir = new URL('../resolve/testdata/', import.meta.url).pathname;
const inputs = readdirSync(dir).filter((file) => file.endsWith('.in.yaml'));

const OPTIONS: RenderOptions = {
  gatewayImage: 'vmcp-gateway:1',
  imagePullPolicy: 'IfNotPresent',
  imagePullSecrets: [],
  openshift: false,
  podDisruptionBudgets: true,
  networkPolicies: true,
};
const owner = { apiVersion: 'vmcp.dev/v1alpha1', kind: 'Any', name: 'any', uid: '1' };

type Snapshots = ReadonlyMap<string, Snapshot>;

/** Everything that the resources of a case become in a cluster. */
async function cluster(input: string): Promise<KubeObject[]> {
  const { snapshots } = await loadManifests([dir + input]);
  const workloads = [...snapshots.values()].flatMap((snapshot) =>
    [...snapshot.servers.values()].flatMap((server) => objectsOf(renderMCPServer(server, owner, OPTIONS))),
  );
  return [...gateways(snapshots), ...workloads];
}

const gateways = (snapshots: Snapshots): KubeObject[] =>
  resolveAll({ snapshots }, CLUSTER_PLATFORM).servers.flatMap(({ namespace, name, config, mounts }) => {
    const vmcp = snapshots.get(namespace)?.vmcps.get(name);
    return vmcp && config ? objectsOf(renderVirtualMCPServer(vmcp, { config, mounts }, owner, OPTIONS)) : [];
  });

const objectsOf = (rendered: Rendered): KubeObject[] => ('objects' in rendered ? rendered.objects : []);

const placeOf = ({ kind, metadata: { namespace, name } }: KubeObject): string =>
  JSON.stringify([kind, namespace, name]);

const everything = (await Promise.all(inputs.map((input) => cluster(input)))).flat();

const documents = (key: string): string[] =>
  everything.flatMap(({ data }) => (data as Readonly<Record<string, string>> | undefined)?.[key] ?? []);

describe('what resources become in a cluster', () => {
  it('holds no value of a Secret', () => {
    expect(everything.length).toBeGreaterThan(100);
    expect(JSON.stringify(everything)).not.toMatch(/canary|hunter2/u);
  });

  it('starts gateways from configurations that they read', () => {
    expect(documents('config.json').length).toBeGreaterThan(10);
    for (const text of documents('config.json')) expect(readGatewayConfig(text)).toHaveProperty('config');
  });

  it('gives gateways backends that they read', () => {
    expect(documents('backends.json').length).toBeGreaterThan(10);
    for (const text of documents('backends.json')) {
      expect(readDocument(DiscoveredBackends, JSON.parse(text))).toHaveProperty('config');
    }
  });

  it('keeps its pods while Secrets and ConfigMaps of backends are away', async () => {
    const changed: Record<string, number> = {};
    for (const input of inputs) {
      const { snapshots } = await loadManifests([dir + input]);
      const bare = [...snapshots].map(
        ([name, snapshot]) => [name, { ...snapshot, secrets: new Map(), configMaps: new Map() }] as const,
      );
      const before = new Map(gateways(snapshots).map((object) => [placeOf(object), object]));
      // What lacks a Secret for itself is not rendered at all, and its pods stay as they are.
      for (const object of gateways(new Map(bare))) {
        if (JSON.stringify(object) === JSON.stringify(before.get(placeOf(object)))) continue;
        const what = object.kind === 'ConfigMap' ? object.metadata.name.replace(/^.*-vmcp-/u, '') : object.kind;
        changed[what] = (changed[what] ?? 0) + 1;
      }
    }
    expect(Object.keys(changed)).toEqual(['backends']);
    expect(changed['backends']).toBeGreaterThan(3);
  });

  it('says of each server what it is run with, in a document that is its own export', () => {
    expect(documents('runconfig.json').length).toBeGreaterThan(10);
    for (const text of documents('runconfig.json')) {
      const read = importRunConfig(JSON.parse(text));
      expect(read).toHaveProperty('config');
      if ('config' in read) expect(exportRunConfig(read.config)).toEqual(JSON.parse(text));
    }
  });

  it('mounts every file that a configuration names', () => {
    const named = [...documents('config.json'), ...documents('backends.json')].flatMap(
      (text) => text.match(/\/etc\/vmcp\/(?:secrets|configmaps)\/[^"]+/gu) ?? [],
    );
    const mounted = new Set(
      [...JSON.stringify(everything).matchAll(/"path":"([^"]+\/[^"]+)"/gu)].map(([, path]) => path),
    );
    expect(named.length).toBeGreaterThan(10);
    // A folder of keys is named without its files.
    const missing = named
      .map((file) => file.split('/').slice(4).join('/'))
      .filter((path) => path.includes('/') && !mounted.has(path));
    expect(missing).toEqual([]);
  });
});
