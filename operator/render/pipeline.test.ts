import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DiscoveredBackends } from '../../gateway/contract/discovered-backends.ts';
import { readDocument } from '../../gateway/contract/run-config/document.ts';
import { exportRunConfig, importRunConfig } from '../../gateway/contract/run-config/document.ts';
import type { KubeObject } from '../../gateway/kube/resource.ts';
import { readGatewayConfig } from '../../gateway/read-gateway-config.ts';
import { checkMCPServer } from '../resolve/objects.ts';
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

/** Renders all resources of a case. */
async function cluster(input: string): Promise<KubeObject[]> {
  const { snapshots } = await loadManifests([dir + input]);
  const workloads = [...snapshots.values()].flatMap((snapshot) =>
    [...snapshot.servers.values()].flatMap((server) => {
      const { gateway } = checkMCPServer(server, snapshot, CLUSTER_PLATFORM);
      if (gateway && !gateway.config) return [];
      const resolved = gateway?.config && { config: gateway.config, mounts: gateway.mounts };
      return objectsOf(renderMCPServer(server, owner, OPTIONS, resolved));
    }),
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

describe('the rendered objects', () => {
  it('contain no value of a Secret', () => {
    expect(everything.length).toBeGreaterThan(100);
    expect(JSON.stringify(everything)).not.toMatch(/canary|hunter2/u);
  });

  it('contain configurations that gateways accept', () => {
    expect(documents('config.json').length).toBeGreaterThan(10);
    for (const text of documents('config.json')) expect(readGatewayConfig(text)).toHaveProperty('config');
  });

  it('contain backends documents that gateways accept', () => {
    expect(documents('backends.json').length).toBeGreaterThan(10);
    for (const text of documents('backends.json')) {
      expect(readDocument(DiscoveredBackends, JSON.parse(text))).toHaveProperty('config');
    }
  });

  it('keep their pods while Secrets and ConfigMaps of backends are missing', async () => {
    const changed: Record<string, number> = {};
    for (const input of inputs) {
      const { snapshots } = await loadManifests([dir + input]);
      const bare = [...snapshots].map(
        ([name, snapshot]) => [name, { ...snapshot, secrets: new Map(), configMaps: new Map() }] as const,
      );
      const before = new Map(gateways(snapshots).map((object) => [placeOf(object), object]));
      // An object that lacks its own Secret is not rendered, and its pods stay unchanged.
      for (const object of gateways(new Map(bare))) {
        if (JSON.stringify(object) === JSON.stringify(before.get(placeOf(object)))) continue;
        const what = object.kind === 'ConfigMap' ? object.metadata.name.replace(/^.*-vmcp-/u, '') : object.kind;
        changed[what] = (changed[what] ?? 0) + 1;
      }
    }
    expect(Object.keys(changed)).toEqual(['backends']);
    expect(changed['backends']).toBeGreaterThan(3);
  });

  it('contain for each server a run configuration that exports unchanged', () => {
    expect(documents('runconfig.json').length).toBeGreaterThan(10);
    for (const text of documents('runconfig.json')) {
      const read = importRunConfig(JSON.parse(text));
      expect(read).toHaveProperty('config');
      if ('config' in read) expect(exportRunConfig(read.config)).toEqual(JSON.parse(text));
    }
  });

  it('mount every file that a configuration names', () => {
    const named = [...documents('config.json'), ...documents('backends.json')].flatMap(
      (text) => text.match(/\/etc\/vmcp\/(?:secrets|configmaps)\/[^"]+/gu) ?? [],
    );
    const mounted = new Set(
      [...JSON.stringify(everything).matchAll(/"path":"([^"]+\/[^"]+)"/gu)].map(([, path]) => path),
    );
    expect(named.length).toBeGreaterThan(10);
    // The configuration names a folder of keys without its files.
    const missing = named
      .map((file) => file.split('/').slice(4).join('/'))
      .filter((path) => path.includes('/') && !mounted.has(path));
    expect(missing).toEqual([]);
  });
});
