import { expect, it } from 'vitest';
import type { GatewayConfig } from '../../contract/gateway-config.ts';
import { explainTools, type KnownTool } from './explanation.ts';

const TOOL: KnownTool = { name: 'refund', backend: 'shop', json: Buffer.from('{"name":"refund"}'), isVisible: true };

const configWith = (vmcp: object, cedar?: object): GatewayConfig =>
  ({
    name: 'desk',
    ...(cedar && { authz_config: { type: 'cedarv1', version: '1.0', cedar } }),
    vmcp: { aggregation: {}, ...vmcp },
  }) as unknown as GatewayConfig;

const explainOne = (config: GatewayConfig, claims: object, tool = TOOL) =>
  explainTools(config, [tool], { claims: { sub: 'alice', ...claims }, arguments: {} })[0];

it('names the field of a workload that hides a tool', () => {
  const hidden = { ...TOOL, isVisible: false };
  const rule = { aggregation: { tools: [{ workload: 'shop', filter: ['other'] }] } };
  expect(explainOne(configWith(rule), {}, hidden)).toMatchObject({ allowed: false, filter: 'tools' });
  expect(explainOne(configWith({ ...rule, namespace: 'team' }), {}, hidden)).toMatchObject({
    filter: 'spec.config.aggregation.tools[0].filter',
  });
});

it('names the shared object whose filter hides a tool', () => {
  const hidden = { ...TOOL, isVisible: false };
  const filterWith = (aggregation: object) =>
    explainOne(configWith({ namespace: 'team', aggregation }), {}, hidden)?.filter;
  const shared = { filter: ['other'], filter_source: 'MCPToolConfig/readers spec.toolsFilter' };
  const deny = { default_tool_visibility: 'deny', backend_tools: { shop: shared } };
  expect(filterWith({ tools: [{ workload: 'shop', ...shared }] })).toBe('MCPToolConfig/readers spec.toolsFilter');
  expect(filterWith({ backend_tools: { shop: shared } })).toBe('MCPToolConfig/readers spec.toolsFilter');
  expect(filterWith({ tools: [{ workload: 'shop', filter: ['x'] }], backend_tools: { shop: shared } })).toBe(
    'spec.config.aggregation.tools[0].filter',
  );
  expect(filterWith(deny)).toBe('spec.config.aggregation.defaultToolVisibility');
});

it('takes the claims for those of the upstream provider that the policies read', () => {
  const cedar = {
    policies: ['permit(principal, action, resource) when { context has claim_tier && context.claim_tier == "gold" };'],
    primary_upstream_provider: 'corp',
  };
  expect(explainOne(configWith({}, cedar), { tier: 'gold' })).toMatchObject({
    allowed: true,
    by: 'permit policies[0]',
  });
  expect(explainOne(configWith({}, cedar), {})).toMatchObject({ allowed: false, by: 'no policy permits it' });
});

it('reports a policy that cannot be evaluated, which denies', () => {
  const policies = [
    'permit(principal, action, resource);',
    'permit(principal, action, resource) when { context.claim_tier == "gold" };',
  ];
  const found = explainOne(configWith({}, { policies }), {});
  expect(found).toMatchObject({ allowed: false, by: expect.stringMatching(/^error: .*claim_tier/u) as string });
});

it('names an argument of another type than the tool declares', () => {
  const schema = { properties: { amount: { type: 'number' } } };
  const tool = { ...TOOL, json: Buffer.from(JSON.stringify({ name: 'refund', inputSchema: schema })) };
  const policies = [
    'permit(principal, action, resource) unless { context has arg_amount && context.arg_amount == 100 };',
  ];
  const call = { claims: { sub: 'alice' }, arguments: { amount: '100' } };
  const [found] = explainTools(configWith({}, { policies }), [tool], call);
  const by = 'error: the argument "amount" has another type than the tool declares';
  expect(found).toMatchObject({ allowed: false, by });
});

it('names the strategy of the credential', () => {
  const outgoing = { outgoing_auth: { shop: { type: 'token_exchange' } } };
  expect(explainOne(configWith(outgoing), {})).toMatchObject({ credential: 'token_exchange', allowed: true });
});
