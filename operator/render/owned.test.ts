import { describe, expect, it } from 'vitest';
import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import { VMCP } from '../../gateway/contract/testdata/vmcp-config.ts';
import type { VirtualMCPServer } from '../resolve/snapshot.ts';
import { renderMCPServer, renderVirtualMCPServer, type Rendered, type RenderOptions } from './index.ts';

type Spec = Readonly<Record<string, unknown>>;

const apiVersion = 'vmcp.dev/v1alpha1';
const owner = { apiVersion, kind: 'Any', name: 'any', uid: '1' };
const CONFIG = { schema_version: 'v0.1.0', name: 'any', group: 'any', vmcp: VMCP } as GatewayConfig;

const optionsFor = (operatorAccount?: RenderOptions['operatorAccount']): RenderOptions => ({
  gatewayImage: 'vmcp-gateway:1',
  imagePullPolicy: 'IfNotPresent',
  imagePullSecrets: [],
  openshift: false,
  podDisruptionBudgets: false,
  networkPolicies: false,
  ...(operatorAccount && { operatorAccount }),
});

type Make = (spec: Spec, options: RenderOptions) => Rendered;

const metadata = { name: 'front', namespace: 'vmcp-system' };
const gateway: Make = (more, options) => {
  const spec = { groupRef: { name: 'any' }, incomingAuth: { type: 'anonymous' }, ...more };
  const vmcp = { apiVersion, kind: 'VirtualMCPServer', metadata, spec } as VirtualMCPServer;
  return renderVirtualMCPServer(vmcp, { config: CONFIG, mounts: [] }, owner, options);
};
const server =
  (transport: 'stdio' | 'sse'): Make =>
  (more, options) =>
    renderMCPServer(
      { apiVersion, kind: 'MCPServer', metadata, spec: { image: 'image:1', transport, ...more } },
      owner,
      options,
    );

const KINDS: [what: string, make: Make, ownAccount: string][] = [
  ['VirtualMCPServer', gateway, 'front-vmcp'],
  ['MCPServer over HTTP', server('sse'), 'front-mcp'],
  ['MCPServer of stdio', server('stdio'), 'front-mcp'],
];

/** Returns `path reason` of each problem. */
const refusals = (rendered: Rendered): string[] =>
  'problems' in rendered ? rendered.problems.map(({ path, reason }) => `${path} ${reason}`) : [];

describe.each(KINDS)('a %s that would run as the operator', (_, make, ownAccount) => {
  const operator = (name: string) => optionsFor({ namespace: 'vmcp-system', name });
  const patch = (spec: Spec): Spec => ({ podTemplateSpec: { spec } });

  const cases: [how: string, spec: Spec, account: string, path: string][] = [
    ['by its account', { serviceAccount: 'op' }, 'op', 'spec.serviceAccount'],
    ['by its patch', patch({ serviceAccountName: 'op' }), 'op', 'spec.podTemplateSpec.spec.serviceAccountName'],
    [
      'by a patch over its account',
      { serviceAccount: 'mine', ...patch({ serviceAccountName: 'op' }) },
      'op',
      'spec.podTemplateSpec.spec.serviceAccountName',
    ],
    [
      'by a patch that removes the account',
      patch({ serviceAccountName: null }),
      'default',
      'spec.podTemplateSpec.spec.serviceAccountName',
    ],
    ['by its name', {}, ownAccount, 'metadata.name'],
  ];
  it.each(cases)('is rejected: %s', (_how, spec, account, path) => {
    expect(refusals(make(spec, operator(account)))).toEqual([`${path} ReservedAccount`]);
  });

  it('is accepted when only the name is equal', () => {
    const elsewhere = optionsFor({ namespace: 'tools', name: 'op' });
    expect(refusals(make({ serviceAccount: 'op' }, elsewhere))).toEqual([]);
    expect(refusals(make({ serviceAccount: 'op' }, optionsFor()))).toEqual([]);
    expect(refusals(make({ serviceAccount: 'other' }, operator('op')))).toEqual([]);
    const overruled = { serviceAccount: 'op', ...patch({ serviceAccountName: 'mine' }) };
    expect(refusals(make(overruled, operator('op')))).toEqual([]);
  });
});
