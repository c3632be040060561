import { expect, it } from 'vitest';
import { readServeConfig } from './serve.ts';

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

it('serves the workloads of namespaces of a cluster', () => {
  expect(readServeConfig('{"workloads": "kubernetes"}')).toEqual({
    protectedBy: undefined,
    cluster: { namespaces: [] },
  });
  const text = '{"workloads": "kubernetes", "namespaces": ["team-a", "team-b"]}';
  expect(readServeConfig(text)).toMatchObject({ cluster: { namespaces: ['team-a', 'team-b'] } });
});

it('records requests with the fields of audit_config', () => {
  const audit = { logFile: '/var/log/vmcp/management.log', excludeEventTypes: ['mcp_ping'], component: null };
  const { component: _absent, ...settings } = audit;
  expect(readServeConfig(JSON.stringify({ audit }))).toEqual({ protectedBy: undefined, audit: settings });
  expect(readServeConfig(JSON.stringify({ auth: AUTH, audit: {} }))).toMatchObject({ audit: {} });
});

it('protects the API with tokens of a service account', () => {
  const auth = { type: 'kubernetes', serviceAccount: 'team:admin' };
  expect(readServeConfig(JSON.stringify({ auth }))).toMatchObject({
    protectedBy: {
      oidc_config: { audience: 'vmcp' },
      vmcp: { incoming: { type: 'oidc', source: 'kubernetes', service_account: 'team:admin', use_cluster_auth: true } },
    },
  });
});

it.each([
  ['text that is no JSON', '{', ['. Invalid']],
  ['a list', '[]', ['. Invalid']],
  ['unknown members', '{"oauth": {}, "port": 1}', ['oauth UnknownField', 'port UnknownField']],
  ['an auth that is no object', '{"auth": 7}', ['auth InvalidType']],
  ['an issuer that is no URL', JSON.stringify({ auth: { ...AUTH, issuer: 'nowhere' } }), ['auth.issuer InvalidUrl']],
  ['a missing audience', JSON.stringify({ auth: { issuer: AUTH.issuer } }), ['auth.audience MissingField']],
  ['namespaces of this machine', '{"namespaces": ["team"]}', ['namespaces Invalid']],
  ['namespaces that are none', '{"workloads": "kubernetes", "namespaces": ["Team"]}', ['namespaces Invalid']],
  ['a namespace alone', '{"workloads": "kubernetes", "namespaces": "team"}', ['namespaces Invalid']],
  ['a namespace twice', '{"workloads": "kubernetes", "namespaces": ["a", "a"]}', ['namespaces Invalid']],
  [
    'another type of auth',
    '{"auth": {"type": "basic"}}',
    ['auth.type Invalid', 'auth.issuer MissingField', 'auth.audience MissingField'],
  ],
  ['tokens of every account', '{"auth": {"type": "kubernetes"}}', ['auth.serviceAccount MissingField']],
  [
    'an account without its namespace',
    '{"auth": {"type": "kubernetes", "serviceAccount": "admin"}}',
    ['auth.serviceAccount MissingField'],
  ],
  [
    'an account with an issuer of another kind',
    JSON.stringify({ auth: { ...AUTH, serviceAccount: 'team:admin' } }),
    ['auth.serviceAccount UnknownField'],
  ],
  ['an audit that is no object', '{"audit": true}', ['audit InvalidType']],
  [
    'audit settings that are none',
    '{"audit": {"file": "x", "onOverflow": "wait"}}',
    ['audit.file UnknownField', 'audit.onOverflow InvalidValue'],
  ],
  ['an unknown event type', '{"audit": {"eventTypes": ["login"]}}', ['audit.eventTypes[0] InvalidValue']],
  ['workloads elsewhere', '{"workloads": "mars"}', ['workloads Invalid']],
])('reports each problem of %s', (_name, text, expected) => {
  const read = readServeConfig(text);
  const problems = 'problems' in read ? read.problems : [];
  expect(problems.map(({ path, reason }) => `${path} ${reason}`)).toEqual(expected);
  expect(problems.map(({ message }) => message).join()).not.toContain('oidc_config');
});
