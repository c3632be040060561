import { expect, it } from 'vitest';
import { readServeConfig } from './serve-config.ts';

const AUTH = { issuer: 'https://idp.example', audience: 'vmcp' };

it('needs no login when there is no auth', () => {
  expect(readServeConfig('{}')).toEqual({ protectedBy: undefined });
  expect(readServeConfig('{"workloads": "local"}')).toEqual({ protectedBy: undefined });
});

it('protects the API with tokens of the issuer', () => {
  expect(readServeConfig(JSON.stringify({ auth: AUTH }))).toMatchObject({
    protectedBy: { oidc_config: AUTH, vmcp: { incoming: { type: 'oidc' } } },
  });
});

it.each([
  ['text that is no JSON', '{', ['. Invalid']],
  ['a list', '[]', ['. Invalid']],
  ['unknown members', '{"oauth": {}, "port": 1}', ['oauth UnknownField', 'port UnknownField']],
  ['an auth that is no object', '{"auth": 7}', ['auth InvalidType']],
  ['an issuer that is no URL', JSON.stringify({ auth: { ...AUTH, issuer: 'nowhere' } }), ['auth.issuer InvalidUrl']],
  ['a missing audience', JSON.stringify({ auth: { issuer: AUTH.issuer } }), ['auth.audience MissingField']],
  ['workloads in a cluster', '{"workloads": "kubernetes"}', ['workloads NotSupportedYet']],
  ['workloads elsewhere', '{"workloads": "mars"}', ['workloads Invalid']],
])('reports each problem of %s', (_name, text, expected) => {
  const read = readServeConfig(text);
  const problems = 'problems' in read ? read.problems : [];
  expect(problems.map(({ path, reason }) => `${path} ${reason}`)).toEqual(expected);
  expect(problems.map(({ message }) => message).join()).not.toContain('oidc_config');
});
