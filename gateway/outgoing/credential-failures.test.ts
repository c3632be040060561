import { expect, it } from 'vitest';
import { CredentialError, type CredentialFault } from './authenticator.ts';
import { CredentialFailures } from './credential-failures.ts';

function world() {
  let now = 0;
  const lines: unknown[] = [];
  const debug: string[] = [];
  const infos: unknown[] = [];
  const failures = new CredentialFailures({
    backend: 'aws',
    now: () => now,
    log: {
      warn: (message, facts) => void lines.push({ message, ...(facts as object) }),
      info: (message, facts) => void infos.push({ message, ...(facts as object) }),
      debug: (message) => void debug.push(message),
    },
  });
  const fail = (fault: CredentialFault, message: string) => {
    failures.failed(new CredentialError(fault, message));
  };
  return { failures, lines, debug, infos, fail, advance: (ms: number) => void (now += ms) };
}

it('logs the first failure, and then one line in five seconds with the number of failures', () => {
  const { lines, fail, advance } = world();
  for (let call = 0; call < 12; call += 1) {
    fail('unavailable', 'the Security Token Service answered 503');
    advance(1_000);
  }
  const line = {
    message: 'no credential for a backend',
    backend: 'aws',
    reason: 'unavailable',
    detail: 'the Security Token Service answered 503',
  };
  expect(lines).toEqual([
    { ...line, failures: 1 },
    { ...line, failures: 5 },
    { ...line, failures: 5 },
  ]);
});

it('shows an outage until a credential is obtained, and for five minutes at most', async () => {
  const { failures, fail, advance } = world();
  expect(failures.problem).toBeUndefined();
  fail('unavailable', 'the token endpoint answered 429');
  expect(failures.problem).toEqual({
    reason: 'CredentialUnavailable',
    message: 'the token endpoint answered 429',
  });
  expect(await failures.watch(Promise.resolve('credential'))).toBe('credential');
  expect(failures.problem).toBeUndefined();
  fail('unavailable', 'the token endpoint answered 429');
  advance(300_001);
  expect(failures.problem).toBeUndefined();
});

it('shows a misconfiguration until a credential is obtained', () => {
  const { failures, fail, advance } = world();
  fail('misconfigured', 'the token endpoint answered 401 invalid_client');
  advance(86_400_000);
  expect(failures.problem?.reason).toBe('CredentialMisconfigured');
  failures.succeeded();
  expect(failures.problem).toBeUndefined();
});

it.each<CredentialFault>(['reauthenticate', 'forbidden', 'store_unavailable'])(
  'treats %s as a matter of one request',
  (fault) => {
    const { failures, lines, debug, fail } = world();
    fail(fault, 'text');
    expect([failures.problem, lines, debug.length]).toEqual([undefined, [], 1]);
  },
);

it('records a rejection and passes it on, and ignores other errors', async () => {
  const { failures, lines } = world();
  const error = new CredentialError('unavailable', 'the token endpoint gave no reply that can be used (timeout)');
  await expect(failures.watch(Promise.reject(error))).rejects.toBe(error);
  expect(failures.problem?.message).toBe(error.message);
  await expect(failures.watch(Promise.reject(new Error('bug')))).rejects.toThrow('bug');
  expect(lines.length).toBe(1);
});

it('shows and logs the description of the endpoint, which the message of the error does not contain', () => {
  const { failures, lines } = world();
  const error = new CredentialError('misconfigured', 'the token endpoint answered 400 invalid_client');
  failures.failed(error.explain('the token endpoint answered 400 invalid_client: "Audience not found"'));
  const detail = 'the token endpoint answered 400 invalid_client: "Audience not found"';
  expect(lines).toEqual([expect.objectContaining({ reason: 'misconfigured', detail })]);
  expect(failures.problem).toEqual({ reason: 'CredentialMisconfigured', message: detail });
  expect(`${error.message} ${JSON.stringify(error)} ${String(error.stack)}`).not.toContain('Audience');
});

it('logs at info once in five seconds why an endpoint rejected the token of one user', () => {
  const { failures, infos, advance } = world();
  for (let call = 0; call < 7; call += 1) {
    const error = new CredentialError('reauthenticate', 'the token endpoint answered 400 invalid_grant');
    failures.failed(error.explain('the token endpoint answered 400 invalid_grant: "Session not active"'));
    advance(1_000);
  }
  const detail = 'the token endpoint answered 400 invalid_grant: "Session not active"';
  expect(infos).toEqual([
    expect.objectContaining({ detail, reason: 'reauthenticate', failures: 1 }),
    expect.objectContaining({ detail, failures: 5 }),
  ]);
  expect(failures.problem).toBeUndefined();
});
