import { getHeapStatistics } from 'node:v8';
import { describe, expect, it } from 'vitest';
import { CredentialError } from '../authenticator.ts';
import { cloudStsProblems, stsEndpoint, type CloudStsConfig } from './config.ts';
import type * as Matchers from './matcher.ts';
import { isTrue } from './matcher.ts';
import { createRoleFinder, sessionNameOf } from './role.ts';

const arn = (name: string): string => `arn:aws:iam::123456789012:role/${name}`;
const settings: CloudStsConfig = {
  region: 'eu-west-1',
  role_mappings: [
    { claim: 'staff', role_arn: arn('last') },
    { claim: 'dev', role_arn: arn('dev'), priority: 20 },
    { claim: 'admin', role_arn: arn('admin'), priority: 10 },
    { claim: 'root', role_arn: arn('root'), priority: 10 },
  ],
};

describe('the role of a user', () => {
  it.each<[string, unknown, string | undefined]>([
    ['is that of the only match', ['dev'], arn('dev')],
    ['is that of the lowest priority', ['dev', 'staff', 'admin'], arn('admin')],
    ['is the first of equal priorities', ['root', 'admin'], arn('admin')],
    ['without a priority comes last', ['staff', 'dev'], arn('dev')],
    ['matches a single text', 'staff', arn('last')],
    ['needs the exact value', ['Dev', 'dev ', 'devs'], undefined],
    ['matches no part of a text', 'dev admin', undefined],
    ['needs the claim', undefined, undefined],
    ['needs texts', [{ dev: true }, 7, null], undefined],
  ])('%s', (_, groups, expected) => {
    expect(createRoleFinder(settings)({ ...(groups !== undefined && { groups }) })).toBe(expected);
    expect(createRoleFinder({ ...settings, fallback_role_arn: arn('other') })({ groups })).toBe(
      expected ?? arn('other'),
    );
  });

  it('comes from the configured claim, and never from a name of Object', () => {
    expect(createRoleFinder({ ...settings, role_claim: 'cognito:groups' })({ 'cognito:groups': ['dev'] })).toBe(
      arn('dev'),
    );
    expect(createRoleFinder({ ...settings, role_claim: 'constructor' })({})).toBeUndefined();
  });
});

describe('the role by a matcher', () => {
  const matching = (...matchers: (string | [string, number])[]): CloudStsConfig => ({
    region: 'eu-west-1',
    role_mappings: matchers.map((each, index) => {
      const [matcher, priority] = typeof each === 'string' ? [each, undefined] : each;
      return { matcher, role_arn: arn(String(index)), ...(priority !== undefined && { priority }) };
    }),
  });
  const claims = {
    sub: 'ann',
    level: 3,
    staff: true,
    groups: ['admins', 'ops'],
    email: 'ann@example.com',
    'cognito:groups': ['eu'],
    realm: { roles: ['x'] },
    none: null,
  };
  const role = (...matchers: Parameters<typeof matching>) => createRoleFinder(matching(...matchers))(claims);

  it.each([
    ['"admins" in claims.groups', true],
    ['"Admins" in claims.groups', false],
    ['claims.level >= 3 && claims.staff', true],
    ['claims.level == 4 || claims.sub != "ann"', false],
    ['claims.email.endsWith("@example.com")', true],
    ['claims.email.matches("^[a-z]+@example[.]com$")', true],
    ['claims["cognito:groups"].exists(g, g.startsWith("e"))', true],
    ['has(claims.realm.roles) && "x" in claims.realm.roles', true],
    ['has(claims.missing)', false],
    ['claims.groups.all(g, g in ["admins", "ops"])', true],
    ['claims.sub == "ann" ? claims.staff : false', true],
    ['claims.staff', true],
    // errors do not match
    ['claims.missing == "a"', false],
    ['claims.sub', false],
    ['claims.sub > 3', false],
    ['claims.none.x == 1', false],
    ['claims.sub.matches(claims.none)', false],
    // nothing of JavaScript
    ['has(claims.constructor) || "toString" in claims || has(claims.__proto__)', false],
    ['claims["__proto__"] == 1 || claims.groups.length > 0', false],
  ])('applies for %s: %s', (matcher, matches) => {
    expect(role(matcher)).toBe(matches ? arn('0') : undefined);
  });

  it('is that of the lowest priority among matches, also with claims', () => {
    expect(role(['true', 20], ['claims.level > 2', 10], ['false', 1])).toBe(arn('1'));
    expect(role('true', ['claims.missing > 1', 1], ['true', 30])).toBe(arn('2'));
    const claim = { claim: 'ops', role_arn: arn('ops'), priority: 5 };
    const both = (priority: number) => {
      const mapping = { matcher: 'claims.staff', role_arn: arn('staff'), priority };
      return createRoleFinder({ region: 'eu-west-1', role_mappings: [mapping, claim] })(claims);
    };
    expect([both(4), both(5), both(6)]).toEqual([arn('staff'), arn('staff'), arn('ops')]);
  });

  it('takes a process another context only when an expression is evaluated', async () => {
    const contexts = (): number => getHeapStatistics().number_of_native_contexts;
    const before = contexts();
    const fresh = new URL('matcher.ts?fresh', import.meta.url).href; // a second instance of the module
    const matcher = ((await import(fresh)) as typeof Matchers).compileMatcher('claims.sub == "ann"');
    expect(contexts()).toBe(before);
    expect(typeof matcher === 'function' && [matcher({ sub: 'ann' }), matcher({ sub: 'bob' })]).toEqual([true, false]);
    expect(contexts()).toBe(before + 1);
  });

  it('is found by a process that waits longer for the processor than an expression may take', () => {
    let waitsMs = 300;
    const evaluate = (): boolean => {
      const cell = new Int32Array(new SharedArrayBuffer(4));
      const [wait] = [waitsMs, (waitsMs = 0)];
      Atomics.wait(cell, 0, 0, wait);
      return true;
    };
    expect(isTrue(evaluate)).toBe(true);
  });

  it('is an error, and no other role, when an expression takes too long', () => {
    const slow = createRoleFinder({ ...matching('claims.sub.matches("^(a+)+$")'), fallback_role_arn: arn('other') });
    const sub = { sub: `${'a'.repeat(60)}!` };
    const thrown = (): unknown => {
      try {
        return slow(sub);
      } catch (error) {
        return error;
      }
    };
    const first = thrown();
    expect(first).toBeInstanceOf(CredentialError);
    expect(first).toMatchObject({ fault: 'misconfigured', message: expect.stringContaining('takes longer than') });
    expect(thrown()).toBe(first); // evaluated once for a token
    expect(slow({ sub: 'aaa' })).toBe(arn('0'));
  });

  it.each([
    ['', 'line 1, column 1: Unexpected token: EOF'],
    ['claims.level >', 'line 1, column 15: Unexpected token: EOF'],
    ['true &&\n  sub == "ann"', 'line 2, column 3: Unknown variable: sub'],
    ['claims.groups.first() == "a"', 'found no matching overload'],
    ['now() > 3', 'found no matching overload'],
    ['claims', 'is of type map'],
    ['1 + 2', 'is of type int'],
    ['"a"', 'is of type string'],
    ['claims.sub.matches("(a")', 'matches("(a") is no regular expression'],
    ['[claims.sub].exists(s, s.matches("[z-a]"))', 'is no regular expression'],
    [`${'('.repeat(60)}true${')'.repeat(60)}`, 'Exceeded maxDepth'],
    [`true${' || true'.repeat(300)}`, 'Exceeded maxAstNodes'],
  ])('cannot be found by %j', (matcher, message) => {
    const [problem] = cloudStsProblems(matching(matcher));
    expect(problem).toMatchObject({ reason: 'InvalidValue', path: 'role_mappings[0].matcher' });
    expect(problem?.message).toContain(message);
  });
});

describe('the session name', () => {
  it.each([
    ['ann@example.com', /^ann@example\.com$/u],
    ['auth0|ann', /^auth0-ann-[0-9a-f]{12}$/u],
    ['a', /^a-[0-9a-f]{12}$/u],
    ['x'.repeat(64), /^x{64}$/u],
    ['x'.repeat(65), /^x{51}-[0-9a-f]{12}$/u],
    ['süß', /^s---[0-9a-f]{12}$/u],
  ])('of "%s" is allowed by AWS', (sub, expected) => {
    const name = sessionNameOf({ sub }, settings);
    expect(name).toMatch(expected);
    expect(name).toMatch(/^[\w+=,.@-]{2,64}$/u);
  });

  it('differs for users whose names become equal', () => {
    expect(sessionNameOf({ sub: 'a b' }, settings)).not.toBe(sessionNameOf({ sub: 'a|b' }, settings));
  });

  it('needs a text in the configured claim', () => {
    expect(sessionNameOf({ sub: 'ann', email: 'ann@x' }, { ...settings, session_name_claim: 'email' })).toBe('ann@x');
    for (const claims of [{}, { sub: '' }, { sub: 7 }]) expect(sessionNameOf(claims, settings)).toBeUndefined();
  });
});

describe('problems of a configuration', () => {
  const problems = (config: Partial<CloudStsConfig>) =>
    cloudStsProblems({ region: 'eu-west-1', ...config }).map(({ reason, path }) => `${reason} ${path}`);
  it.each<[string[], Partial<CloudStsConfig>]>([
    [[], { fallback_role_arn: arn('a') }],
    [[], { role_mappings: [{ claim: 'a', role_arn: arn('a') }] }],
    [['MissingField fallback_role_arn'], {}],
    [['MissingField fallback_role_arn'], { role_mappings: [] }],
    [['MissingField role_mappings[0].claim'], { role_mappings: [{ role_arn: arn('a') }] }],
    [[], { role_mappings: [{ matcher: 'true', role_arn: arn('a') }] }],
    [['RuleViolated role_mappings[0]'], { role_mappings: [{ claim: 'a', matcher: 'true', role_arn: arn('a') }] }],
    [['InvalidValue role_mappings[0].matcher'], { role_mappings: [{ matcher: 'sub == "a"', role_arn: arn('a') }] }],
    [['InsecureUrl sts_endpoint'], { fallback_role_arn: arn('a'), sts_endpoint: 'http://sts.example' }],
  ])('are %j', (expected, config) => {
    expect(problems(config)).toEqual(expected);
  });
});

it.each([
  ['eu-west-1', 'https://sts.eu-west-1.amazonaws.com'],
  ['us-gov-west-1', 'https://sts.us-gov-west-1.amazonaws.com'],
  ['cn-north-1', 'https://sts.cn-north-1.amazonaws.com.cn'],
])('uses the endpoint of region %s unless another is set', (region, expected) => {
  expect(stsEndpoint({ region })).toBe(expected);
  expect(stsEndpoint({ region, sts_endpoint: 'https://own.example' })).toBe('https://own.example');
});
