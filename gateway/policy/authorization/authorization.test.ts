import { describe, expect, it } from 'vitest';
import type { ListedItem, Policy } from '../policy.ts';
import { shortToolName } from '../tool-name.ts';
import { allows, callOf, identityOf, policyOf, toolOf } from './testdata/decide.ts';

const permit = (condition: string, scope = 'principal, action, resource'): string =>
  `permit(${scope}) when { ${condition} };`;
const BUY = toolOf('shop_buy', { readOnlyHint: false, destructiveHint: true });
const GREET: ListedItem = { kind: 'prompts', name: 'greet', backend: 'shop', json: undefined };
const STOCK: ListedItem = { kind: 'resources', name: 'shop:///stock', backend: 'shop', json: undefined };
const USER = identityOf({
  email: 'alice@example.com',
  level: 3,
  staff: true,
  groups: ['admins', 'ops'],
  scope: 'tools:read tools:write',
  address: { city: 'Oslo' },
});

describe('a policy reads', () => {
  it.each([
    ['the subject', 'permit(principal == Client::"alice", action, resource);', BUY],
    ['a claim of the principal', permit('principal.claim_email == "alice@example.com"'), BUY],
    ['a number', permit('principal.claim_level > 2'), BUY],
    ['a boolean', permit('principal.claim_staff'), BUY],
    ['a list claim', permit('principal.claim_groups.contains("ops")'), BUY],
    ['a claim of the context', permit('context.claim_email like "*@example.com"'), BUY],
    ['a list claim as a set', permit('context.claimset_groups.containsAll(["ops", "admins"])'), BUY],
    ['a text claim as a set of words', permit('context.claimset_scope.contains("tools:write")'), BUY],
    ['a group', 'permit(principal in Group::"admins", action, resource);', BUY],
    ['the action of a tool', 'permit(principal, action == Action::"call_tool", resource);', BUY],
    ['the action of a prompt', 'permit(principal, action == Action::"get_prompt", resource);', GREET],
    ['the action of a resource', 'permit(principal, action == Action::"read_resource", resource);', STOCK],
    ['the name of a tool', 'permit(principal, action, resource == Tool::"shop_buy");', BUY],
    ['the name of a prompt', 'permit(principal, action, resource == Prompt::"greet");', GREET],
    ['the URI of a resource', 'permit(principal, action, resource == Resource::"shop:///stock");', STOCK],
    ['the virtual server', 'permit(principal, action, resource in MCP::"front");', BUY],
    ['the backend', 'permit(principal, action, resource in Backend::"shop");', BUY],
    ['the attribute name', permit('resource.name like "shop_*"'), BUY],
    ['operation and feature of a tool', permit('resource.operation == "call" && resource.feature == "tool"'), BUY],
    ['operation and feature of a prompt', permit('resource.operation == "get" && resource.feature == "prompt"'), GREET],
    ['those of a resource', permit('resource.operation == "read" && resource.feature == "resource"'), STOCK],
    ['an annotation', permit('resource.destructiveHint && !resource.readOnlyHint'), BUY],
    ['that an annotation is unknown', permit('!(resource has openWorldHint)'), BUY],
    ['an argument', permit('context.arg_amount < 10 && context.arg_who == "bob" && context.arg_now'), BUY],
    ['the presence of another value', permit('context has arg_items_present && !(context has arg_items)'), BUY],
    ['that an argument is absent', permit('!(context has arg_nothing)'), BUY],
    ['the context as a whole', permit('[context].contains(context)'), BUY],
  ])('%s', (_what, policy, item) => {
    const args = '{"amount":2,"who":"bob","now":true,"items":[1]}';
    expect(allows(policyOf([policy]), item, USER, item.kind === 'resources' ? undefined : args)).toBe(true);
  });

  it('the claims of the primary provider in place of those of the token, and nothing without them', () => {
    const policy = policyOf([permit('principal.claim_level > 2', 'principal == Client::"alice", action, resource')], {
      primary_upstream_provider: 'corp',
    });
    const upstream = (provider: string, level: number) => ({ ...USER, upstream: { provider, claims: { level } } });
    expect(allows(policy, BUY, upstream('corp', 3))).toBe(true);
    expect(allows(policy, BUY, upstream('corp', 1))).toBe(false);
    expect(allows(policy, BUY, upstream('other', 3))).toBe(false);
    expect(allows(policy, BUY, USER)).toBe(false);
    expect(policy.isListed?.(BUY, { principal: '', identity: USER })).toBe(false);
  });

  it.each([
    ['another subject', 'permit(principal == Client::"bob", action, resource);'],
    ['another group', 'permit(principal in Group::"finance", action, resource);'],
    ['an object claim', permit('principal has claim_address')],
    ['another action', 'permit(principal, action == Action::"get_prompt", resource);'],
    ['a tool of another name', 'permit(principal, action, resource == Tool::"shop_sell");'],
    ['another virtual server', 'permit(principal, action, resource in MCP::"back");'],
    ['another backend', 'permit(principal, action, resource in Backend::"bank");'],
    ['no policy that permits', 'forbid(principal, action, resource == Tool::"other");'],
  ])('%s, and denies', (_what, policy) => {
    expect(allows(policyOf([policy]), BUY, USER)).toBe(false);
  });
});

describe('a decision', () => {
  const OPEN = 'permit(principal, action, resource);';

  it.each([
    ['a forbid', [OPEN, 'forbid(principal, action, resource in Backend::"shop");']],
    ['a claim that is missing in a permit', [permit('principal.claim_tier == "gold"')]],
    [
      'a claim that is missing in a forbid',
      [OPEN, 'forbid(principal, action, resource) when { principal.claim_tier == "x" };'],
    ],
    ['an attribute that is missing in another permit', [OPEN, permit('resource.price > 2')]],
    ['a type error', [OPEN, permit('principal.claim_email > 2')]],
  ])('denies because of %s', (_what, policies) => {
    expect(allows(policyOf(policies), BUY, USER)).toBe(false);
  });

  it('denies anonymous clients, whatever a policy permits', () => {
    expect(allows(policyOf([OPEN]), BUY, undefined)).toBe(false);
    expect(policyOf([OPEN]).isListed?.(BUY, { principal: 'anonymous', identity: undefined })).toBe(false);
  });

  it('has a message for each kind, and nothing about policies', () => {
    const policy = policyOf(['@id("secret-policy") forbid(principal, action, resource);']);
    const deny = (message: string) => ({ verdict: 'deny', reason: 'policy', message });
    expect(policy.decide(callOf(BUY, USER))).toEqual(deny('tool call denied by policy'));
    expect(policy.decide(callOf(GREET, USER))).toEqual(deny('prompt denied by policy'));
    expect(policy.decide(callOf(STOCK, USER))).toEqual(deny('resource denied by policy'));
  });

  it('gives an unknown item the same answer, and an unknown completion its own', () => {
    const policy = policyOf([OPEN]);
    expect(policy.decideUnknown?.(callOf({ ...BUY, backend: '', json: undefined }, USER))).toMatchObject({
      verdict: 'deny',
    });
    const completion = { ...callOf(GREET, USER), method: 'completion/complete' };
    expect(policy.decideUnknown?.(completion)).toEqual({ verdict: 'allow' });
  });
});

describe('arguments', () => {
  const small = policyOf([permit('context.arg_amount < 10'), permit('!(context has arg_amount)')]);
  const guarded = policyOf([
    'permit(principal, action, resource);',
    'forbid(principal, action, resource) when { context has arg_amount && context.arg_amount > 10 };',
  ]);

  it.each([
    ['{"amount":9}', true],
    ['{"amount":11}', false],
    ['{"amount":9.0}', true],
    ['{"amount":9.5}', true],
    ['{"amount":9007199254740993}', false],
    ['{"amount":1e400}', false],
    ['{"amount":5.0000000000000000001}', false],
    ['{"amount":1e-400}', false],
    ['{"amount":5.0}', true],
    ['{"amount":9,"amount":11}', false],
    ['{"amount":9,"Amount":11}', false],
    ['{"Amount":11}', false],
    ['{"amount":[11]}', false],
    ['{"amount":{"value":11}}', false],
    ['{"amount":null}', false],
    ['{"amount":"\\ud800"}', false],
    ['{"other":1.5,"more":[1]}', true],
    ['{}', true],
    [undefined, true],
  ])('%s allow a guarded call: %s', (args, allowed) => {
    expect(allows(guarded, BUY, USER, args)).toBe(allowed);
  });

  describe('of a policy that can apply to one tool only', () => {
    const refund = toolOf('shop_refund', {}, { properties: { amount: { type: 'number' } } });
    const weight = toolOf('shop_weigh', {}, { properties: { amount: { type: 'integer' } } });
    const OPEN = 'permit(principal, action, resource);';
    const limit = 'context has arg_amount && context.arg_amount > 100';

    it.each([
      `forbid(principal, action, resource == Tool::"shop_refund") when { ${limit} };`,
      `forbid(principal, action, resource) when { resource == Tool::"shop_refund" && ${limit} };`,
      `forbid(principal, action, resource) when { ${limit} && resource.name == "shop_refund" };`,
      `forbid(principal, action, resource) unless { resource != Tool::"shop_refund" || !(${limit}) };`,
      `forbid(principal, action, resource) when { if resource.name like "*_refund" then ${limit} else false };`,
      `forbid(principal in Group::"admins", action, resource == Tool::"shop_refund") when { context.arg_amount > 100 };`,
    ])('do not decide on other tools: %s', (forbid) => {
      const policy = policyOf([OPEN, forbid]);
      const numbers = ['0.1', '-2.75', '1e2', '9007199254740993', '"100"', 'null', '[1]', '{"a":1}'];
      const others = [...numbers.map((each) => `{"amount":${each}}`), '{"amount":1,"amount":2}', '{"Amount":1}', '{}'];
      for (const args of others) {
        expect(allows(policy, weight, USER, args), args).toBe(true);
        expect(allows(policy, { ...weight, name: 'shop_other', json: undefined }, USER, args), args).toBe(true);
      }
      expect(allows(policy, refund, USER, '{"amount":100}')).toBe(true);
      for (const args of ['100.01', '101', '1e2', '"100"', '[1]', '1,"amount":2', '1,"AMOUNT":2'])
        expect(allows(policy, refund, USER, `{"amount":${args}}`), args).toBe(false);
    });

    it('decide on them where a claim that they need is missing', () => {
      const forbid = `forbid(principal, action, resource) when { principal.claim_tier == "x" && ${limit} };`;
      expect(allows(policyOf([OPEN, forbid]), weight, USER, '{"amount":[1]}')).toBe(false);
      expect(allows(policyOf([OPEN, forbid]), weight, identityOf({ tier: 'y' }), '{"amount":[1]}')).toBe(true);
      expect(allows(policyOf([OPEN, forbid]), refund, identityOf({ tier: 'x' }), '{"amount":[1]}')).toBe(false);
    });

    it('may permit one tool each', () => {
      const policy = policyOf([
        permit('context.arg_amount <= 100', 'principal, action, resource == Tool::"shop_refund"'),
        permit('context.arg_text == "x"', 'principal, action, resource == Tool::"shop_other"'),
      ]);
      expect(allows(policy, refund, USER, '{"amount":99.9,"text":null}')).toBe(true);
      expect(allows(policy, toolOf('shop_other'), USER, '{"amount":null,"text":"x"}')).toBe(true);
      expect(allows(policy, toolOf('shop_third'), USER, '{"amount":1,"text":"x"}')).toBe(false);
    });
  });

  describe('that are fractions', () => {
    const known = new Map<string, Policy>();
    const holds = (condition: string, args: string): boolean => {
      const policy = known.get(condition) ?? policyOf([permit(`context has arg_a && ${condition}`)]);
      known.set(condition, policy);
      return allows(policy, toolOf('shop_buy'), USER, args);
    };

    it.each([
      ['9.99', { '<': true, '<=': true, '>': false, '>=': false }],
      ['99.999999', { '<': true, '<=': true, '>': false, '>=': false }],
      ['-100.5', { '<': true, '<=': true, '>': false, '>=': false }],
      ['0.30000000000000004', { '<': true, '<=': true, '>': false, '>=': false }],
      ['100.0', { '<': false, '<=': true, '>': false, '>=': true }],
      ['100.000', { '<': false, '<=': true, '>': false, '>=': true }],
      ['100', { '<': false, '<=': true, '>': false, '>=': true }],
      ['100.0001', { '<': false, '<=': false, '>': true, '>=': true }],
      ['100.00000001', { '<': false, '<=': false, '>': true, '>=': true }],
      ['333.3333333333333', { '<': false, '<=': false, '>': true, '>=': true }],
    ])('compare exactly with a whole number: %s', (number, expected) => {
      for (const [operator, result] of Object.entries(expected)) {
        const mirrored = operator.replace(/[<>]/u, (sign) => (sign === '<' ? '>' : '<'));
        expect(holds(`context.arg_a ${operator} 100`, `{"a":${number}}`), operator).toBe(result);
        expect(holds(`100 ${mirrored} context["arg_a"]`, `{"a":${number}}`), mirrored).toBe(result);
        expect(holds(`!(context.arg_a ${operator} 50 + 50)`, `{"a":${number}}`), operator).toBe(!result);
      }
    });

    it.each([
      ['context.arg_a == 9', '9.99', false],
      ['context.arg_a != 10', '9.99', true],
      ['context.arg_a == 9', '9.0', true],
      ['[9, 10].contains(context.arg_a)', '9.99', false],
      ['context.arg_a == decimal("9.99")', '9.990', true],
      ['decimal("9.0") == context.arg_a', '9', true],
      ['context.arg_a == decimal("9.99")', '9.98', false],
      ['context.arg_a.lessThan(decimal("10.5"))', '10.49', true],
      ['context.arg_a.lessThan(decimal("10.5"))', '10.5', false],
      ['context.arg_a.greaterThanOrEqual(decimal("10.0"))', '10', true],
      ['decimal("0.5").greaterThan(context.arg_a)', '0.4999', true],
      ['context.arg_a.lessThan(decimal("10.5"))', '9.99999', false],
      ['{"<": context.arg_a < 10} == {"<": true}', '9.5', true],
    ])('%s holds for %s: %s', (condition, number, expected) => {
      expect(holds(condition, `{"a":${number}}`)).toBe(expected);
    });

    it.each([
      ['1.2', '1.5', { '<': true, '<=': true, '>': false, '>=': false }],
      ['-1.2', '-1.5', { '<': false, '<=': false, '>': true, '>=': true }],
      ['2', '1.999', { '<': false, '<=': false, '>': true, '>=': true }],
      ['1.50', '1.5', { '<': false, '<=': true, '>': false, '>=': true }],
      ['9007199254740990', '9007199254740991', { '<': true, '<=': true, '>': false, '>=': false }],
    ])('compare with each other: %s and %s', (a, b, expected) => {
      for (const [operator, result] of Object.entries(expected))
        expect(holds(`context.arg_a ${operator} context.arg_b`, `{"a":${a},"b":${b}}`), operator).toBe(result);
    });

    it.each(['9.99e0', '1E2', '9.9999999999999999999', '9007199254740991.5', `0.${'1'.repeat(60)}`])(
      'deny the call where readers may round them: %s',
      (number) => {
        expect(allows(guarded, BUY, USER, `{"amount":${number}}`)).toBe(false);
      },
    );

    it('deny the call of a tool that declares a whole number, which its server may make of them', () => {
      const tool = (type: string) => toolOf('shop_buy', {}, { properties: { amount: { type } } });
      expect(allows(guarded, tool('integer'), USER, '{"amount":9.5}')).toBe(false);
      expect(allows(guarded, tool('integer'), USER, '{"amount":9.0}')).toBe(true);
      expect(allows(guarded, tool('number'), USER, '{"amount":9.5}')).toBe(true);
    });

    it('deny the call where a policy is nested too deeply to compare them', () => {
      const deep = `${'!('.repeat(80)}context.arg_a > 100${')'.repeat(80)}`;
      expect(['101', '100', '9.5'].map((number) => holds(deep, `{"a":${number}}`))).toEqual([true, false, false]);
      const other = policyOf([
        'permit(principal, action, resource);',
        permit(deep, 'principal, action, resource == Tool::"x"'),
      ]);
      expect(['101', '9.5'].map((number) => allows(other, BUY, USER, `{"a":${number}}`))).toEqual([true, true]);
    });

    it('have no arithmetic', () => {
      expect(holds('context.arg_a * 2 > 10', '{"a":9.5}')).toBe(false);
      expect(holds('context.arg_a * 2 > 10', '{"a":9}')).toBe(true);
    });
  });

  it('of another type than the policy expects are an error, which denies', () => {
    expect(allows(small, BUY, USER, '{"amount":"9"}')).toBe(false);
  });

  it('are flags for values without a Cedar type when the policy reads the flag', () => {
    const policy = policyOf([permit('context has arg_items_present || context has arg_items')]);
    expect(allows(policy, BUY, USER, '{"items":{}}')).toBe(true);
    expect(allows(policy, BUY, USER, '{"items":{},"items_present":true}')).toBe(false);
    expect(allows(policy, BUY, USER, '{"items":5}')).toBe(true);
  });

  it.each([
    ['{"items_present":true}', false],
    ['{"items_present":"yes"}', false],
    ['{"items_present":[1]}', false],
    ['{"items":[1],"items_present_present":true}', true],
    ['{"items":[1]}', true],
  ])('%s with the name of a flag allow a call that needs the flag: %s', (args, allowed) => {
    const flag = 'context has arg_items_present';
    expect(allows(policyOf([permit(flag)]), BUY, USER, args)).toBe(allowed);
    if (!allowed)
      expect(allows(policyOf([permit(`[context].contains(context) && ${flag}`)]), BUY, USER, args)).toBe(false);
  });

  describe.each([
    ['number', { type: 'number' }],
    ['integer', { type: 'integer' }],
    ['several types', { type: ['integer', 'null'] }],
    ['a choice', { anyOf: [{ type: 'integer', minimum: 1 }, { type: 'null' }] }],
    ['a reference', { $ref: '#/$defs/a~1b' }],
    ['a choice of references', { oneOf: [{ $ref: '#/$defs/a~1b' }, { type: 'null' }] }],
  ])('of a tool that declares %s', (_what, amount) => {
    const schema = { type: 'object', $defs: { 'a/b': { type: 'integer' } }, properties: { amount, who: {} } };
    const tool = toolOf('shop_buy', {}, schema);
    const policy = policyOf([
      'permit(principal, action, resource);',
      'forbid(principal, action, resource) when { context has arg_amount && context.arg_amount == 100 };',
      'forbid(principal, action, resource) when { context has arg_who && context.arg_who == "eve" };',
    ]);

    it.each([
      ['{"amount":99}', true],
      ['{"amount":99.0}', true],
      ['{"amount":100}', false],
      ['{"amount":"100"}', false],
      ['{"amount":" 1e2 "}', false],
      ['{"amount":"99"}', false],
      ['{"amount":true}', false],
      ['{"who":5,"more":"1"}', true],
      ['{}', true],
    ])('%s allow a call: %s', (args, allowed) => {
      expect(allows(policy, tool, USER, args)).toBe(allowed);
    });
  });

  it.each([
    ['any type', {}],
    ['text too', { type: ['integer', 'string'] }],
    ['a choice of anything', { anyOf: [{ type: 'integer' }, {}] }],
    ['a reference that leads nowhere', { $ref: '#/$defs/none' }],
    ['a reference to itself', { $ref: '#/properties/amount' }],
    ['a reference elsewhere', { $ref: 'https://example.com/amount' }],
    ['a schema that is none', 7],
  ])('may be text for a tool that declares %s', (_what, amount) => {
    const tool = toolOf('shop_buy', {}, { properties: { amount } });
    expect(allows(policyOf([permit('context.arg_amount == "99"')]), tool, USER, '{"amount":"99"}')).toBe(true);
  });

  it('of another type than the tool declares deny the call, also for a policy that reads only the flag', () => {
    const tool = toolOf('shop_buy', {}, { properties: { items: { type: 'array' }, force: { type: 'boolean' } } });
    const flag = policyOf([
      'permit(principal, action, resource);',
      'forbid(principal, action, resource) when { context has arg_items_present };',
    ]);
    expect(allows(flag, tool, USER, '{"items":"[1]"}')).toBe(false);
    expect(allows(flag, tool, USER, '{"force":"true"}')).toBe(true);
    const force = policyOf([permit('!(context has arg_force) || context.arg_force == false')]);
    expect(allows(force, tool, USER, '{"force":false}')).toBe(true);
    expect(allows(policyOf([permit('context.arg_force != true')]), tool, USER, '{"force":"true"}')).toBe(false);
  });

  it('are not read when no policy does', () => {
    expect(allows(policyOf(['permit(principal, action, resource);']), BUY, USER, '{"a":1,"a":2}')).toBe(true);
  });
});

describe('groups', () => {
  const admins = 'permit(principal in Group::"admins", action, resource);';
  it.each([
    ['groups', { groups: ['admins'] }, {}, true],
    ['roles', { roles: ['admins'] }, {}, true],
    ['cognito:groups', { 'cognito:groups': ['admins'] }, {}, true],
    ['groups before roles', { groups: ['x'], roles: ['admins'] }, {}, false],
    ['one name', { groups: 'admins' }, {}, true],
    ['a name with a space', { groups: 'admins of nothing' }, {}, false],
    ['the configured claim', { team: ['admins'] }, { group_claim_name: 'team' }, true],
    ['only the configured claim', { groups: ['admins'] }, { group_claim_name: 'team' }, false],
    ['a nested claim', { realm_access: { roles: ['admins'] } }, { group_claim_name: 'realm_access.roles' }, true],
    ['roles in addition', { groups: ['x'], jobs: ['admins'] }, { role_claim_name: 'jobs' }, true],
    ['another entity type', { groups: ['admins'] }, { group_entity_type: 'Team' }, false],
  ])('are read from %s', (_what, claims, cedar, allowed) => {
    expect(allows(policyOf([admins], cedar), BUY, identityOf(claims))).toBe(allowed);
  });

  it('have the configured entity type', () => {
    const policy = policyOf(['permit(principal in Team::"admins", action, resource);'], { group_entity_type: 'Team' });
    expect(allows(policy, BUY, identityOf({ groups: ['admins'] }))).toBe(true);
  });
});

describe('configured entities', () => {
  const ref = (type: string, id: string) => ({ type, id });
  const entities = (...list: { uid: object; attrs?: object; parents?: object[] }[]) => ({
    entities_json: JSON.stringify(list.map((one) => ({ attrs: {}, parents: [], ...one }))),
  });

  it.each([
    [
      'parents of groups',
      'permit(principal in Group::"everybody", action, resource);',
      entities(
        { uid: ref('Group', 'ops'), parents: [ref('Group', 'staff')] },
        { uid: ref('Group', 'staff'), parents: [ref('Group', 'everybody')] },
      ),
    ],
    [
      'attributes of a tool',
      permit('resource.price < 5'),
      entities({ uid: ref('Tool', 'shop_buy'), attrs: { price: 3 } }),
    ],
    [
      'parents of a tool',
      'permit(principal, action, resource in Suite::"sales");',
      entities({ uid: ref('Tool', 'shop_buy'), parents: [ref('Suite', 'sales')] }),
    ],
    [
      'a correction of an annotation',
      permit('resource.readOnlyHint'),
      entities({ uid: ref('Tool', 'shop_buy'), attrs: { readOnlyHint: true } }),
    ],
    [
      'attributes of the user',
      permit('principal.desk == 4'),
      entities({ uid: ref('Client', 'alice'), attrs: { desk: 4 } }),
    ],
    [
      'groups of actions',
      'permit(principal, action in Action::"write", resource);',
      entities({ uid: ref('Action', 'call_tool'), parents: [ref('Action', 'write')] }),
    ],
    [
      'an entity that a policy names',
      permit('Config::"limits".open'),
      entities({ uid: ref('Config', 'limits'), attrs: { open: true } }),
    ],
    [
      'an entity in an attribute',
      permit('resource.owner.active'),
      entities(
        { uid: ref('Tool', 'shop_buy'), attrs: { owner: { __entity: ref('Person', 'eve') } } },
        { uid: ref('Person', 'eve'), attrs: { active: true } },
      ),
    ],
  ])('give %s', (_what, policy, cedar) => {
    expect(allows(policyOf([policy], cedar), BUY, USER)).toBe(true);
    expect(allows(policyOf([policy]), BUY, USER)).toBe(false);
  });
});

describe('a resource', () => {
  const open = policyOf(['permit(principal, action, resource);']);
  it.each([
    ['shop:///stock', true],
    ['file:///a/b%20c', true],
    ['https://example.com/a?b=../c', true],
    ['urn:isbn:0451450523', true],
    ['file:///a/../b', false],
    ['file:///a/%2e%2e/b', false],
    ['file:///a/%2E%2E/b', false],
    ['file:///a/..%2Fb', false],
    ['FILE:///a', false],
    ['file:///a%2fb', false],
    ['file:///%61', false],
    ['file:///a b', false],
    ['https://example.com', false],
    ['https://EXAMPLE.com/', false],
    ['urn:a/../b', false],
    ['stock', false],
  ])('%s is read and listed: %s', (name, allowed) => {
    const item: ListedItem = { kind: 'resources', name, backend: 'shop', json: Buffer.from('{}') };
    expect(allows(open, item, USER)).toBe(allowed);
    expect(open.isListed?.(item, { principal: '', identity: USER })).toBe(allowed);
  });

  it.each([
    ['file:///etc/passwd', true],
    ['file:///etc//passwd', false],
    ['file:////etc/passwd', false],
    ['file:///etc/passwd/', false],
    ['file:///etc/passwd#', false],
    ['file:///etc/passwd?', false],
    ['file:///srv%2Fsecret/x', false],
    ['file:///public/..;/x', false],
    ['file:///public/%252E%252E/x', false],
    ['q://read?path=public/../secret', false],
    ['q://read?path=..%2Fsecret', false],
    ['q://read?path=public/a.b', true],
    ['q://read?range=1..5', true],
    ['web://page/https://example.com/a', true],
    ['repo://all/team%2Frepo', true],
  ])('%s that no list has, for a read through a template, is read: %s', (name, allowed) => {
    expect(allows(open, { kind: 'resources', name, backend: 'shop', json: undefined }, USER)).toBe(allowed);
  });

  it('template is listed when a read of its text would be allowed', () => {
    const policy = policyOf([permit('resource.name like "shop:///items/*"')]);
    const template = (name: string): ListedItem => ({ kind: 'templates', name, backend: 'shop', json: undefined });
    const listed = (name: string) => policy.isListed?.(template(name), { principal: '', identity: USER });
    expect([listed('shop:///items/{id}'), listed('shop:///users/{id}')]).toEqual([true, false]);
  });
});

describe('cached decisions', () => {
  it('follow the claims that policies read', () => {
    const policy = policyOf([permit('principal.claim_level == 3')]);
    const decide = (claims: Readonly<Record<string, unknown>>) => allows(policy, BUY, identityOf(claims));
    expect([
      decide({ level: 3, jti: '1' }),
      decide({ level: 4, jti: '1' }),
      decide({ level: 3, jti: '2' }),
      decide({}),
    ]).toEqual([true, false, true, false]);
  });

  it('follow the item', () => {
    const policy = policyOf([permit('resource.readOnlyHint')]);
    expect(allows(policy, toolOf('t', { readOnlyHint: true }), USER)).toBe(true);
    expect(allows(policy, toolOf('t', { readOnlyHint: false }), USER)).toBe(false);
    expect(allows(policy, { ...toolOf('t', { readOnlyHint: true }), name: 'u' }, USER)).toBe(true);
  });
});

describe('row 84: a policy that reads an argument', () => {
  const named = (count: number): string =>
    `{"path":"/public",${Array.from({ length: count - 1 }, (_, index) => `"${index.toString(36)}":1`).join(',')}}`;

  it.each([permit('context.arg_path == "/public"'), permit('context has arg_path && [context].contains(context)')])(
    'reads 1,000 of them and denies a call with more: %s',
    (policy) => {
      expect(allows(policyOf([policy]), BUY, USER, named(1_000))).toBe(true);
      expect(allows(policyOf([policy]), BUY, USER, named(1_001))).toBe(false);
    },
  );

  it('takes no time for 900,000 others', () => {
    const policy = policyOf([permit('context.arg_path == "/public"')]);
    const call = callOf(BUY, USER, named(900_000));
    void policy.decide(callOf(BUY, USER, named(1_000)));
    const before = process.cpuUsage();
    expect(policy.decide(call)).toMatchObject({ verdict: 'deny' });
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(200);
  });

  it('is not asked for the texts of the others', () => {
    const asked: string[] = [];
    const call = callOf(BUY, USER, '{"path":"/public","other":"x"}');
    const readArguments: typeof call.readArguments = (isRead = () => true) => {
      asked.push(...['path', 'other'].filter(isRead));
      return call.readArguments();
    };
    void policyOf([permit('context.arg_path == "/public"')]).decide({ ...call, readArguments });
    expect(asked).toEqual(['path']);
  });
});

describe('with a greatest length of tool names', () => {
  const FULL = `shop_${'a'.repeat(70)}_delete`;
  const short = toolOf(shortToolName(FULL, 64));
  const PERMIT_ALL = 'permit(principal, action, resource);';
  const decide = (policies: string[], entities: object[] = []): boolean =>
    allows(policyOf(policies, { entities_json: JSON.stringify(entities) }, 64), short, USER, '{"a":1}');

  it.each([
    ['the full name', `forbid(principal, action, resource == Tool::"${FULL}");`],
    ['the name that clients see', `forbid(principal, action, resource == Tool::"${short.name}");`],
    ['a condition', `forbid(principal, action, resource) when { [Tool::"${FULL}"].contains(resource) };`],
    ['an argument', `forbid(principal, action, resource == Tool::"${FULL}") when { context.arg_a == 1 };`],
  ])('a policy forbids a tool by %s', (_by, policy) => {
    expect(decide([PERMIT_ALL])).toBe(true);
    expect(decide([PERMIT_ALL, policy])).toBe(false);
  });

  it('a policy permits a tool by a group of entities with its full name', () => {
    const entities = [
      { uid: { type: 'ToolGroup', id: 'safe' }, attrs: {}, parents: [] },
      { uid: { type: 'Tool', id: FULL }, attrs: {}, parents: [{ type: 'ToolGroup', id: 'safe' }] },
    ];
    const policy = 'permit(principal, action, resource in ToolGroup::"safe");';
    expect(decide([policy], entities)).toBe(true);
    expect(decide([policy])).toBe(false);
  });

  it('names another tool with the same start differently', () => {
    expect(decide([PERMIT_ALL, `forbid(principal, action, resource == Tool::"${FULL}2");`])).toBe(true);
  });
});

describe('a user without the claim of groups', () => {
  const without = identityOf({ email: 'alice@example.com' });
  const forbid = 'forbid(principal, action, resource) when { context.claim_groups.contains("blocked") };';

  it.each([
    ['claim_groups', 'principal.claim_groups.isEmpty()'],
    ['claimset_groups', '!context.claimset_groups.contains("admins")'],
  ])('has an empty list in %s', (_, condition) => {
    expect(allows(policyOf([permit(condition)]), BUY, without)).toBe(true);
  });

  it('is not denied by a policy that forbids a group', () => {
    expect(allows(policyOf(['permit(principal, action, resource);', forbid]), BUY, without)).toBe(true);
  });
});
