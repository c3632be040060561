import { describe, expect, it } from 'vitest';
import { cloudStsProblems, stsEndpoint, type CloudStsConfig } from './config.ts';
import { roleOf, sessionNameOf } from './role.ts';

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
    expect(roleOf({ ...(groups !== undefined && { groups }) }, settings)).toBe(expected);
    expect(roleOf({ groups }, { ...settings, fallback_role_arn: arn('other') })).toBe(expected ?? arn('other'));
  });

  it('comes from the configured claim, and never from a name of Object', () => {
    expect(roleOf({ 'cognito:groups': ['dev'] }, { ...settings, role_claim: 'cognito:groups' })).toBe(arn('dev'));
    expect(roleOf({}, { ...settings, role_claim: 'constructor' })).toBeUndefined();
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
    [['NotSupportedYet role_mappings[0].matcher'], { role_mappings: [{ matcher: 'true', role_arn: arn('a') }] }],
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
