import { Account, createBudgets } from '../budgets/account.ts';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { startPersonalBackend } from '../../../e2e/harness/backends/personal.ts';
import { testScope } from '../../../e2e/harness/scope.ts';
import type { Backend, Operational } from '../../contract/gateway-config.ts';
import { createAuthenticator } from '../../outgoing/index.ts';
import { callerOf } from '../../outgoing/testdata/callers.ts';
import { strategyWorld } from '../../outgoing/testdata/strategy-deps.ts';
import { createLog } from '../../telemetry/log.ts';
import { Sessions } from '../session.ts';
import { createTransports } from '../transport/index.ts';
import { ask } from '../transport/request-reply.ts';
import { BackendRuntime } from './backend.ts';

const OPERATIONAL: Operational = {
  timeouts: { default: '5s' },
  failure_handling: {
    health_check_interval: '30s',
    health_check_timeout: '5s',
    unhealthy_threshold: 3,
    circuit_breaker: { enabled: false, failure_threshold: 5, timeout: '60s' },
  },
};

it('names the provider of a login that a backend rejects twice', async () => {
  const personal = await startPersonalBackend(testScope());
  const { deps, tokens, now } = await strategyWorld();
  const jwt = (n: number) => `e30.${Buffer.from(JSON.stringify({ sub: 'alice', n })).toString('base64url')}.x`;
  const refresh = async () => ({ accessToken: jwt(2) });
  const owner = { tsid: 'tsid-of-alice', subject: 'alice', clientId: 'desktop' };
  tokens.put(owner, 'github', { accessToken: jwt(1), refresh });

  const config: Backend = { name: 'personal', transport: 'streamable-http', url: personal.url };
  const log = createLog(new PassThrough().resume(), 'error');
  const runtime = new BackendRuntime({
    config,
    operational: OPERATIONAL,
    transport: createTransports({ log, version: '0', launcher: undefined, now })(config, OPERATIONAL),
    authenticator: createAuthenticator({ type: 'upstream_inject', provider_name: 'github' }, deps),
    metrics: { ended: () => undefined },
    log,
    now,
    backendSessions: () => undefined,
    onUnavailable: () => undefined,
    onMessage: () => undefined,
    onListChanged: () => undefined,
  });
  const nothing = () => undefined;
  const sessions = new Sessions({
    ttlMs: 60_000,
    limit: 1,
    now,
    newId: () => 's',
    accountOf: (principal) => new Account(principal, createBudgets(), nothing),
    onForeign: nothing,
    onEnd: nothing,
  });
  const alice = callerOf('alice', now());
  const client = {
    revision: '2025-11-25',
    capabilities: '{}',
    offers: new Set<string>(),
    client: { name: '', version: '' },
  };
  const session = sessions.create(alice.principal, client);
  session.identity = alice;
  const list = () =>
    runtime.runFor(session, (channel, credential) => ask(channel, 'tools/list', '{}', 5_000, { credential }));

  await list();
  personal.refuses = () => true;
  const listed = () => personal.seen.filter(({ what }) => what === 'tools/list').length;
  const before = listed();
  await expect(list()).rejects.toMatchObject({ failure: { kind: 'reauthenticate', provider: 'github' } });
  expect(listed() - before).toBe(2);
  await runtime.close();
});
