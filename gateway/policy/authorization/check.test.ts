import { describe, expect, it } from 'vitest';
import { checkPolicies } from './check.ts';
import { MAX_POLICY_BYTES, MAX_POLICY_DEPTH } from './config.ts';
import { allows, identityOf, policyOf, toolOf } from './testdata/decide.ts';

const OPEN = 'permit(principal, action, resource);';
const when = (condition: string): string => `permit(principal, action, resource) when { ${condition} };`;

function problemsOf(policies: readonly string[], entities?: unknown): string[] {
  const text = typeof entities === 'string' ? entities : JSON.stringify(entities);
  const result = checkPolicies({ policies: [...policies], ...(entities !== undefined && { entities_json: text }) });
  return 'problems' in result
    ? result.problems.map(({ path, reason, message }) => `${path}: ${message} [${reason}]`)
    : [];
}

const node = (id: string, ...parents: string[]) => ({
  uid: { type: 'G', id },
  attrs: {},
  parents: parents.map((parent) => ({ type: 'G', id: parent })),
});
const chain = (length: number) => Array.from({ length }, (_, n) => node(String(n), String(n + 1)));
const nested = (depth: number): object => (depth === 0 ? { leaf: 1 } : { inner: nested(depth - 1) });

describe('policies that cannot be used', () => {
  it.each([
    [
      'a syntax error',
      [OPEN, 'permit(principal,\n  action, resource) when { true };}'],
      /^policies\[1\]: line 2, column 35: unexpected token/u,
    ],
    ['an unknown variable', [when('foo')], /^policies\[0\]: line 1, column 44: invalid variable: foo/u],
    [
      'a place after other alphabets',
      ['// ⟦é⟧\n// 𝕏 permit\npermit(x, action, resource);'],
      /^policies\[0\]: line 3, column 8: /u,
    ],
    ['a template', ['permit(principal == ?principal, action, resource);'], /^policies\[0\]: is a template/u],
    ['no policy', ['// nothing'], /^policies\[0\]: contains no policy/u],
    ['too many bytes', [OPEN.repeat(MAX_POLICY_BYTES / OPEN.length + 1)], /^policies: the policies have \d+ bytes/u],
    ['1 MiB', [OPEN.repeat(29_000)], /^policies: the policies have \d+ bytes/u],
    ['too many policies', ['permit(principal,action,resource);'.repeat(1_001)], /^policies: there are 1001 policies/u],
    [
      'deep brackets',
      [when(`${'('.repeat(20_000)}true${')'.repeat(20_000)}`)],
      /^policies\[0\]: has expressions nested/u,
    ],
    [
      'deep conditions',
      [when(`${'if true then '.repeat(5_000)}true${' else false'.repeat(5_000)}`)],
      /^policies\[0\]: has expressions nested/u,
    ],
    [
      'long chains',
      [when(`${'true && '.repeat(MAX_POLICY_DEPTH + 20)}true`)],
      /^policies\[0\]: has expressions nested/u,
    ],
    ['deep sets', [when(`${'['.repeat(5_000)}1${']'.repeat(5_000)} == 1`)], /^policies\[0\]: has expressions nested/u],
  ])('are reported with their place: %s', (_what, policies, expected) => {
    expect(problemsOf(policies)).toEqual([expect.stringMatching(expected)]);
    expect(problemsOf(policies)[0]).toMatch(/ \[AuthzInvalid\]$/u);
  });

  it('are reported all at once', () => {
    expect(problemsOf(['permit(', OPEN, 'forbid('], '{')).toEqual([
      expect.stringMatching(/^policies\[0\]/u),
      expect.stringMatching(/^policies\[2\]/u),
      expect.stringMatching(/^entities_json: is not JSON/u),
    ]);
  });
});

describe('entities that cannot be used', () => {
  it.each([
    ['no JSON', '[', /is not JSON/u],
    ['no array', {}, /must be an array/u],
    ['a number', [1], /\S/u],
    ['no uid', [{ attrs: {}, parents: [] }], /\S/u],
    ['a cycle', [node('a', 'b'), node('b', 'a')], /cycle/u],
    ['an entity that is its own parent', [node('a', 'a')], /cycle/u],
    ['two of one name', [{ ...node('a'), attrs: { x: 1 } }, node('a')], /duplicate/u],
    ['a long line of parents', chain(300), /generations of parents/u],
    ['an endless line of parents', chain(3_000), /generations of parents/u],
    ['parents that are no entities', [{ ...node('a'), parents: [null, 5, { type: 'G' }] }], /parents|entity|uid/iu],
    ['deep attributes', [{ ...node('a'), attrs: nested(2_000) }], /nested too deeply|recursion/u],
    ['too many', Array.from({ length: 10_001 }, (_, n) => n), /more than 10000 entities/u],
    ['too many bytes', JSON.stringify([{ ...node('a'), attrs: { x: 'x'.repeat(MAX_POLICY_BYTES) } }]), /bytes/u],
  ])('are reported: %s', (_what, entities, expected) => {
    expect(problemsOf([OPEN], entities)).toEqual([expect.stringMatching(/^entities_json: .+ \[AuthzInvalid\]$/u)]);
    expect(problemsOf([OPEN], entities)[0]).toMatch(expected);
  });

  it('are accepted when they are large and well-formed', () => {
    expect(problemsOf([OPEN], chain(90))).toEqual([]);
    expect(
      problemsOf(
        [OPEN],
        Array.from({ length: 3_000 }, (_, n) => node(String(n), 'top')),
      ),
    ).toEqual([]);
  });
});

describe('policies at the limit', () => {
  const depth = MAX_POLICY_DEPTH - 20;
  it.each([
    ['conjunctions', when(`${'true && '.repeat(depth)}true`)],
    ['alternatives', when(`${'false || '.repeat(depth)}true`)],
    ['sums', when(`${'1 + '.repeat(depth)}1 == ${String(depth + 1)}`)],
    ['conditions', when(`${'if true then '.repeat(depth)}true${' else false'.repeat(depth)}`)],
    ['negations in brackets', when(`${'!('.repeat(depth)}true${')'.repeat(depth)}`)],
    ['sets', when(`${'['.repeat(depth)}1${']'.repeat(depth)} == ${'['.repeat(depth)}1${']'.repeat(depth)}`)],
  ])('are evaluated: %s', (_what, policy) => {
    expect(problemsOf([policy])).toEqual([]);
    expect(allows(policyOf([policy]), toolOf('t'), identityOf())).toBe(true);
  });
});

describe('names of policies', () => {
  const namesOf = (policies: readonly string[]): string[] => {
    const result = checkPolicies({ policies: [...policies] });
    return 'checked' in result ? result.checked.policies.map(({ name, json }) => `${name} ${json.effect}`) : [];
  };

  it('are annotations, else places', () => {
    const many = Array.from({ length: 12 }, (_, n) => (n === 10 ? 'forbid(principal, action, resource);' : OPEN)).join(
      '\n',
    );
    expect(namesOf([`@id("open") ${OPEN}`, OPEN])).toEqual(['open permit', 'policies[1] permit']);
    expect(namesOf([many])[10]).toBe('policies[0] number 11 forbid');
  });
});

describe('unknown actions', () => {
  const warningsOf = (policy: string, entities = '[]'): string[] => {
    const result = checkPolicies({ policies: [policy], entities_json: entities });
    return 'checked' in result
      ? result.checked.warnings.map(({ reason, path, message }) => `${reason} ${path} ${message}`)
      : [];
  };

  it.each([
    'permit(principal, action == Action::"tools/call", resource);',
    'permit(principal, action in [Action::"call_tool", Action::"tools/call"], resource);',
    when('action == Action::"tools/call"'),
  ])('are a warning: %s', (policy) => {
    expect(warningsOf(policy)).toEqual([
      expect.stringMatching(/^UnknownAction policies\[0\] policy "policies\[0\]" names Action::"tools\/call"/u),
    ]);
  });

  it('are those that neither requests nor entities have', () => {
    const uid = { type: 'Action', id: 'call_tool' };
    const entities = JSON.stringify([{ uid, attrs: {}, parents: [{ type: 'Action', id: 'write' }] }]);
    expect(
      warningsOf('permit(principal, action in [Action::"write", Action::"list_tools"], resource);', entities),
    ).toEqual([]);
  });
});
