import { describe, expect, it } from 'vitest';
import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import { VMCP } from '../../gateway/contract/testdata/vmcp-config.ts';
import type { MCPServer, VirtualMCPServer } from '../resolve/snapshot.ts';
import { renderMCPServer, renderVirtualMCPServer, type Rendered, type RenderOptions } from './index.ts';

const OPTIONS: RenderOptions = {
  gatewayImage: 'vmcp-gateway:1',
  imagePullPolicy: 'IfNotPresent',
  imagePullSecrets: [],
  openshift: false,
  podDisruptionBudgets: true,
  networkPolicies: true,
};
/** Words in the names of rendered objects, and some others. */
const PARTS = ['a', '0', 'mcp', 'vmcp', 'config', 'runconfig', 'gateway', 'backends'];
const NAMES = PARTS.flatMap((a) => [a, ...PARTS.flatMap((b) => [`${a}-${b}`, ...PARTS.map((c) => `${a}-${b}-${c}`)])]);

const apiVersion = 'vmcp.dev/v1alpha1';
const owner = { apiVersion, kind: 'Any', name: 'any', uid: '1' };

const CONFIG = { schema_version: 'v0.1.0', name: 'any', group: 'any', vmcp: VMCP } as GatewayConfig;

const gateway = (name: string): Rendered => {
  const spec = { groupRef: { name: 'any' }, incomingAuth: { type: 'anonymous' }, replicas: 2 };
  const vmcp = { apiVersion, kind: 'VirtualMCPServer', metadata: { name, namespace: 'tools' }, spec };
  return renderVirtualMCPServer(vmcp as VirtualMCPServer, { config: CONFIG, mounts: [] }, owner, OPTIONS);
};

const server = (name: string, transport: 'stdio' | 'sse'): Rendered => {
  const spec = { image: 'image:1', transport, replicas: 2 };
  const object = { apiVersion, kind: 'MCPServer', metadata: { name, namespace: 'tools' }, spec };
  return renderMCPServer(object as MCPServer, owner, OPTIONS);
};

/** Returns `Kind/name` of all objects. */
const idsOf = (rendered: Rendered): string[] =>
  'objects' in rendered ? rendered.objects.map(({ kind, metadata: { name } }) => `${kind}/${name}`) : [];

describe('the objects of two resources', () => {
  it('never have the same name', () => {
    const owners = new Map<string, string>();
    const clashes: string[] = [];
    const own = (who: string, ids: Iterable<string>): void => {
      for (const id of ids) {
        const other = owners.get(id);
        if (other !== undefined) clashes.push(`${id}: ${other}, ${who}`);
        owners.set(id, who);
      }
    };
    for (const name of NAMES) {
      own(`VirtualMCPServer ${name}`, idsOf(gateway(name)));
      own(`MCPServer ${name}`, new Set([...idsOf(server(name, 'stdio')), ...idsOf(server(name, 'sse'))]));
    }
    expect(clashes).toEqual([]);
    expect(owners.size).toBeGreaterThan(NAMES.length * 15);
  });
});
