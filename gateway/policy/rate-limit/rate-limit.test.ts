import { describe, expect, it } from 'vitest';
import { VMCP } from '../../contract/testdata/vmcp-config.ts';
import { callOf, toolOf } from '../authorization/testdata/decide.ts';
import { policyDeps } from '../testdata/policy-deps.ts';
import { shortToolName } from '../tool-name.ts';
import { rateLimit } from './rate-limit.ts';
import { checkGatewayConfig } from '../../read-gateway-config.ts';

const base = { schema_version: 'v0.1.0', name: 'desk', vmcp: { ...VMCP, backends: [] } };
const bucket = { maxTokens: 10, refillPeriod: '1m' };

function problemsOf(config: object): string[] {
  const read = checkGatewayConfig({ ...base, ...config });
  return 'problems' in read ? read.problems.map(({ reason, path }) => `${reason} ${path}`) : [];
}

const limits = (rate_limit_config: unknown, more: object = {}) => problemsOf({ rate_limit_config, ...more });
const users = {
  oidc_config: { issuer: 'https://idp.example.com', audience: 'a' },
  vmcp: { ...base.vmcp, incoming: { type: 'oidc' } },
};

describe('rate_limit_config', () => {
  it.each([
    ['of all clients', { shared: bucket }, {}],
    ['of a tool', { tools: [{ name: 'a', shared: bucket }] }, {}],
    ['with a period in nanoseconds', { shared: { maxTokens: 1, refillPeriod: 60_000_000_000 } }, {}],
    ['with a period as an object', { shared: { maxTokens: 1, refillPeriod: { duration: '1m' } } }, {}],
    ['with an outcome of outages', { storeUnavailable: 'open', shared: bucket }, {}],
    ['of users', { perUser: bucket, tools: [{ name: 'a', perUser: bucket }] }, users],
    ['with a namespace', { shared: bucket }, { rate_limit_namespace: 'team' }],
    [
      'with a store',
      { shared: bucket },
      { scaling_config: { session_kvstore: { address: 'redis:6379', db: 2, key_prefix: 'a:', tls: {} } } },
    ],
  ])('is accepted: %s', (_what, config, more) => {
    expect(limits(config, more)).toEqual([]);
  });

  it.each([
    ['MissingField rate_limit_config', {}],
    ['MissingField rate_limit_config.tools[0]', { tools: [{ name: 'a' }] }],
    ['MissingField rate_limit_config.tools[0].name', { tools: [{ shared: bucket }] }],
    ['InvalidValue rate_limit_config.tools[0].name', { tools: [{ name: '', shared: bucket }] }],
    [
      'RuleViolated rate_limit_config.tools[1].name',
      {
        tools: [
          { name: 'a', shared: bucket },
          { name: 'a', shared: bucket },
        ],
      },
    ],
    ['InvalidValue rate_limit_config.shared.maxTokens', { shared: { ...bucket, maxTokens: 0 } }],
    ['InvalidValue rate_limit_config.shared.maxTokens', { shared: { ...bucket, maxTokens: -1 } }],
    ['InvalidValue rate_limit_config.shared.maxTokens', { shared: { ...bucket, maxTokens: 2_147_483_648 } }],
    ['InvalidType rate_limit_config.shared.maxTokens', { shared: { ...bucket, maxTokens: 1.5 } }],
    ['MissingField rate_limit_config.shared.maxTokens', { shared: { refillPeriod: '1m' } }],
    ['MissingField rate_limit_config.shared.refillPeriod', { shared: { maxTokens: 1 } }],
    ['InvalidDuration rate_limit_config.shared.refillPeriod', { shared: { ...bucket, refillPeriod: '0s' } }],
    ['InvalidDuration rate_limit_config.shared.refillPeriod', { shared: { ...bucket, refillPeriod: 0 } }],
    [
      'InvalidDuration rate_limit_config.tools[0].shared.refillPeriod',
      { tools: [{ name: 'a', shared: { ...bucket, refillPeriod: '9000h' } }] },
    ],
    ['InvalidValue rate_limit_config.shared.refillPeriod', { shared: { ...bucket, refillPeriod: '-1s' } }],
    ['RuleViolated rate_limit_config.perUser', { perUser: bucket }],
    ['RuleViolated rate_limit_config.tools[0].perUser', { tools: [{ name: 'a', perUser: bucket }] }],
    ['InvalidValue rate_limit_config.storeUnavailable', { storeUnavailable: 'maybe', shared: bucket }],
    ['UnknownField rate_limit_config.global', { shared: bucket, global: bucket }],
  ])('is refused: %s', (problem, config) => {
    expect(limits(config)).toEqual([problem]);
  });
});

describe.each([
  ['with rate limits', { rate_limit_config: { shared: bucket } }],
  ['without rate limits', {}],
])('scaling_config %s', (_what, config) => {
  const store = (session_kvstore: object) => problemsOf({ ...config, scaling_config: { session_kvstore } });
  const PLACE = 'scaling_config.session_kvstore';

  it.each([
    [`InvalidValue ${PLACE}.address`, {}],
    [`InvalidValue ${PLACE}.address`, { address: 'redis://a' }],
    [`InvalidValue ${PLACE}.key_prefix`, { address: 'a', key_prefix: 'a' }],
    [`InvalidValue ${PLACE}.key_prefix`, { address: 'a', key_prefix: '{a}:' }],
    [`InvalidValue ${PLACE}.db`, { address: 'a', db: -1 }],
  ])('is refused: %s', (problem, sessions) => {
    expect(store(sessions)).toEqual([problem]);
  });

  it('is accepted with a store', () => {
    expect(store({ address: 'redis:6379', key_prefix: 'team:', db: 1, tls: {} })).toEqual([]);
  });

  it('is refused with a number of pods', () => {
    expect(problemsOf({ ...config, scaling_config: { backend_replicas: 2 } })).toEqual([
      'NotSupportedYet scaling_config.backend_replicas',
    ]);
  });
});

describe('rate_limit_namespace', () => {
  it('is refused without rate limits', () => {
    expect(problemsOf({ rate_limit_namespace: 'a' })).toEqual(['NotSupportedYet rate_limit_namespace']);
  });
});

it.each([
  ['its full name', 'a'.repeat(80)],
  ['the name that clients see', shortToolName('a'.repeat(80), 64)],
])('limits a tool with a long name by %s', async (_by, name) => {
  const one = { maxTokens: 1, refillPeriod: '1h' };
  const policy = rateLimit.create({ tools: [{ name, shared: one }] }, { ...policyDeps(), maxToolNameLength: 64 });
  const seen = toolOf(shortToolName('a'.repeat(80), 64));
  const verdicts = [await policy.decide(callOf(seen, undefined)), await policy.decide(callOf(seen, undefined))];
  expect(verdicts.map(({ verdict }) => verdict)).toEqual(['allow', 'deny']);
});
