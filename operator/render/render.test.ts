import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { validateObject, withDefaults } from '../../crds/kinds/validate.ts';
import type { KubeObject } from '../../gateway/kube/resource.ts';
import type { MCPServer, VirtualMCPServer } from '../resolve/snapshot.ts';
import {
  renderMCPServer,
  renderVirtualMCPServer,
  type Rendered,
  type RenderOptions,
  type ResolvedConfig,
} from './index.ts';
import { patchFaults } from './pod-template/check.ts';
import { isObject } from '../../gateway/contract/json.ts';

const dir = new URL('testdata/', import.meta.url).pathname;
const inputs = readdirSync(dir).filter((file) => file.endsWith('.in.yaml'));

const OPTIONS: RenderOptions = {
  gatewayImage: 'registry.example.com/vmcp-gateway:1.0.0',
  imagePullPolicy: 'IfNotPresent',
  imagePullSecrets: [],
  openshift: false,
  podDisruptionBudgets: false,
  networkPolicies: false,
};

/** Input of a case. */
interface Case {
  readonly object: VirtualMCPServer | MCPServer;
  /** Resolved configuration of the gateway. */
  readonly resolution?: ResolvedConfig;
  readonly options?: Partial<RenderOptions>;
  /** Kinds in the outcome; all when absent. */
  readonly show?: readonly string[];
}

const read = (input: string): Case => parse(readFileSync(dir + input, 'utf8')) as Case;

function rendered({ object, resolution, options }: Case): Rendered {
  const { apiVersion, kind, metadata } = object;
  const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '', controller: true };
  const all = { ...OPTIONS, ...options };
  if (object.kind === 'MCPServer') return renderMCPServer(withDefaults('MCPServer', object), owner, all, resolution);
  if (!resolution) throw new Error('a VirtualMCPServer is rendered from its resolution');
  return renderVirtualMCPServer(withDefaults('VirtualMCPServer', object), resolution, owner, all);
}

function outcome({ show, ...input }: Case): string {
  const result = rendered(input);
  if ('problems' in result) return stringify(result, { lineWidth: 0 });
  const shown = result.objects.filter(({ kind }) => show?.includes(kind) ?? true);
  return shown.map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })).join('---\n');
}

const objectsOf = (input: string): KubeObject[] => {
  const result = rendered(read(input));
  return 'objects' in result ? result.objects : [];
};

describe.each(inputs)('%s', (input) => {
  it('is valid by the schema', () => {
    const { object } = read(input);
    expect(validateObject(object.kind, object)).toEqual([]);
  });

  it('has this outcome', async () => {
    await expect(outcome(read(input))).toMatchFileSnapshot(dir + input.replace('.in.', '.out.'));
  });

  it('does not depend on the order of members', () => {
    expect(outcome(backwards(read(input)))).toBe(outcome(read(input)));
  });

  it('does not modify its input', () => {
    expect(() => rendered(freezeDeep(read(input)))).not.toThrow();
  });

  it('sorts objects by kind and name, and all members', () => {
    const objects = objectsOf(input);
    const ids = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
    for (const object of objects) eachObject(object, (members) => expect(members).toEqual(members.toSorted()));
  });

  it('renders valid pod templates', () => {
    for (const { kind, spec } of objectsOf(input)) {
      if (kind === 'Deployment' || kind === 'StatefulSet') {
        expect(patchFaults((spec as { readonly template: unknown }).template)).toEqual([]);
      }
    }
  });

  it('owns and labels every object', () => {
    const { metadata } = read(input).object;
    for (const object of objectsOf(input)) {
      expect(object.metadata).toMatchObject({
        namespace: 'tools',
        labels: { 'app.kubernetes.io/managed-by': 'vmcp-operator', 'app.kubernetes.io/instance': metadata.name },
        ownerReferences: [{ name: metadata.name, uid: metadata.uid, controller: true }],
      });
    }
  });
});

describe('the pods of a VirtualMCPServer', () => {
  const template = (
    change: (config: ResolvedConfig['config']) => ResolvedConfig['config'],
    mounts: ResolvedConfig['mounts'] = [],
  ) => {
    const input = read('vmcp.in.yaml');
    if (!input.resolution) throw new Error('no resolution');
    const result = rendered({ ...input, resolution: { config: change(input.resolution.config), mounts } });
    const deployment = 'objects' in result ? result.objects.find(({ kind }) => kind === 'Deployment') : undefined;
    return JSON.stringify(deployment?.['spec']);
  };
  const before = template((config) => config);

  it('are not replaced when backends or their credentials change', () => {
    const after = template((config) => ({
      ...config,
      vmcp: {
        ...config.vmcp,
        backends: [{ name: 'new', transport: 'streamable-http', url: 'https://new.example.com/mcp' }],
        outgoing_auth: { new: { type: 'unauthenticated' } },
      },
    }));
    expect(after).toBe(before);
  });

  it('are replaced when the start configuration changes', () => {
    expect(template((config) => ({ ...config, group: 'other' }))).not.toBe(before);
  });

  it('are replaced when they need another file', () => {
    const mount = {
      kind: 'Secret',
      namespace: 'tools',
      name: 'keys',
      key: 'new',
      path: '/etc/vmcp/secrets/keys/new',
    } as const;
    expect(template((config) => config, [mount])).not.toBe(before);
  });
});

/** Returns the value with the members of every object in reverse order. */
function backwards<T>(value: T): T {
  if (Array.isArray(value)) return value.map((item: unknown) => backwards(item)) as T;
  if (!isObject(value)) return value;
  const entries = Object.entries(value).toReversed();
  return Object.fromEntries(entries.map(([name, member]) => [name, backwards(member)])) as T;
}

function freezeDeep<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(freezeDeep);
  return Object.freeze(value);
}

function eachObject(value: unknown, look: (members: string[]) => void): void {
  if (isObject(value)) look(Object.keys(value));
  if (typeof value === 'object' && value !== null) Object.values(value).forEach((member) => eachObject(member, look));
}
