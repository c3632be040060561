import { expect, it } from 'vitest';
import type { GatewayConfig } from '../../contract/gateway-config.ts';
import { memberTexts } from '../../http/known-members.ts';
import { allows, identityOf, policyOf } from '../authorization/testdata/decide.ts';
import { shortToolName } from '../tool-name.ts';
import { explainTools, type ExplainedCall, type KnownTool } from './explanation.ts';

const TOOL: KnownTool = { name: 'refund', backend: 'shop', json: Buffer.from('{"name":"refund"}'), isVisible: true };

const configWith = (vmcp: object, cedar?: object): GatewayConfig =>
  ({
    name: 'desk',
    ...(cedar && { authz_config: { type: 'cedarv1', version: '1.0', cedar } }),
    vmcp: { aggregation: {}, ...vmcp },
  }) as unknown as GatewayConfig;

const explainOne = (config: GatewayConfig, claims: object, tool = TOOL) =>
  explainTools(config, [tool], { claims: { sub: 'alice', ...claims }, ...callWith('{}') })[0];

/** Returns the arguments of a call from their JSON text. */
function callWith(text: string): Pick<ExplainedCall, 'arguments' | 'readArguments'> {
  const args = Buffer.from(text);
  return { arguments: args, readArguments: (isRead = () => true) => memberTexts(args, isRead) };
}

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
  const call = { claims: { sub: 'alice' }, ...callWith('{"amount":"100"}') };
  const [found] = explainTools(configWith({}, { policies }), [tool], call);
  const by = 'error: the argument "amount" has another type than the tool declares';
  expect(found).toMatchObject({ allowed: false, by });
});

it('names the strategy of the credential', () => {
  const outgoing = { outgoing_auth: { shop: { type: 'token_exchange' } } };
  expect(explainOne(configWith(outgoing), {})).toMatchObject({ credential: 'token_exchange', allowed: true });
});

it.each([
  ['{"amount":9.99}', true],
  ['{"amount":100.01}', false],
  ['{"amount":null}', false],
  ['{"amount":1e2}', false],
  ['{"amount":1e1}', false],
  ['{"amount":9007199254740993}', false],
  ['{"amount":"9"}', false],
  ['{"amount":[9]}', false],
  ['{"amount":9,"amount":9}', false],
  ['{"amount":9,"Amount":9}', false],
  [`{"amount":9${',"a":1'.repeat(1_000)}}`, false],
  [' {"other":1e2, "amount" : 9 } ', true],
])('decides on the arguments %s as the policy does on a call: %s', (text, allowed) => {
  const schema = { properties: { amount: { type: 'number' } } };
  const tool = { ...TOOL, json: Buffer.from(JSON.stringify({ name: 'refund', inputSchema: schema })) };
  const policies = [
    'permit(principal, action, resource);',
    'forbid(principal, action, resource == Tool::"refund") when { context has arg_amount && context.arg_amount > 100 };',
  ];
  const call = { claims: { sub: 'alice' }, ...callWith(text) };
  expect(explainTools(configWith({}, { policies }), [tool], call)).toMatchObject([{ allowed }]);
  expect(explainTools(configWith({}, { policies }), [{ ...tool, name: 'other' }], call)).toMatchObject([
    { allowed: true },
  ]);
  expect(allows(policyOf(policies), { ...tool, kind: 'tools', backend: 'shop' }, identityOf(), text.trim())).toBe(
    allowed,
  );
});

it('explains a tool by its full name when clients see a shorter one', () => {
  const full = `shop_${'a'.repeat(70)}`;
  const tool = { ...TOOL, name: shortToolName(full, 64) };
  const config = configWith(
    { aggregation: { max_tool_name_length: 64 } },
    { policies: [`permit(principal, action, resource == Tool::"${full}");`] },
  );
  expect(explainTools(config, [tool], { claims: { sub: 'alice' }, tool: full, ...callWith('{}') })).toMatchObject([
    { tool: tool.name, allowed: true },
  ]);
});
