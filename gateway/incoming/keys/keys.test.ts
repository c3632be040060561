import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { newSigningKey } from '../../../e2e/harness/issuer-keys.ts';
import type { Misbehaviour } from '../../../e2e/harness/issuer-server.ts';
import { startIssuer, type Issuer } from '../../../e2e/harness/issuer.ts';
import { beside, testScope, type Scope } from '../../../e2e/harness/scope.ts';
import type { Identity } from '../../contract/identity.ts';
import { AUDIENCE, requestsFor, validatorFor, verdictOn, type Setup } from '../testdata/validator-under-test.ts';

const start = (scope: Scope = testScope()): Promise<Issuer> =>
  startIssuer(scope, { algorithms: ['ES256'], audience: AUDIENCE });
const begin = async (setup: Setup = {}, scope: Scope = testScope()) => {
  const issuer = await start(scope);
  return { issuer, ...validatorFor(scope, issuer.url, setup) };
};
const delaysAtMost10s = (jwks: Misbehaviour) =>
  beside(async (scope) => {
    const { issuer, validator } = await begin({}, scope);
    issuer.behave = { jwks };
    const started = performance.now();
    expect(await verdictOn(validator, issuer.token())).toBe('down: keys');
    expect(performance.now() - started).toBeLessThan(12_000);
    const again = performance.now();
    expect(await verdictOn(validator, issuer.token())).toBe('down: keys'); // the same fetch, or one after a failure
    expect(performance.now() - again).toBeLessThan(4_000);
  });
const HANGING = { hang: delaysAtMost10s('hang'), drip: delaysAtMost10s('drip') };
const keysWith = (issuer: Issuer, headers: Readonly<Record<string, string>>) => () => ({
  json: { keys: issuer.keys.map(({ publicJwk }) => publicJwk) },
  headers,
});
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

describe('a cold start', () => {
  it('fetches the keys once for 200 parallel tokens', async () => {
    const { issuer, validator } = await begin();
    issuer.delayMs = 50;
    const tokens = Array.from({ length: 200 }, (_, i) => issuer.token({ sub: `user-${String(i % 50)}` }));
    const verdicts = await Promise.all(tokens.map((token) => verdictOn(validator, token)));
    expect(new Set(verdicts).size).toBe(50);
    expect(verdicts.every((verdict) => verdict.startsWith('sub: user-'))).toBe(true);
    expect([requestsFor(issuer, 'jwks'), requestsFor(issuer, 'discovery')]).toEqual([1, 1]);
  });

  it('fetches the keys in the background on warm-up', async () => {
    const { issuer, validator } = await begin();
    expect(validator.status()).toMatchObject({ ready: false, reason: 'KeysPending' });
    validator.warmUp();
    await expect.poll(() => validator.status()).toEqual({ ready: true });
    expect(await verdictOn(validator, issuer.token())).toBe('sub: ann');
    expect(requestsFor(issuer, 'jwks')).toBe(1);
  });

  it('completes the warm-up as soon as the issuer is reachable', async () => {
    const { issuer, validator } = await begin();
    await issuer.crash();
    validator.warmUp();
    await expect.poll(() => validator.status()).toMatchObject({ ready: false, reason: 'KeysUnavailable' });
    await issuer.recover();
    await expect.poll(() => validator.status(), { timeout: 5_000 }).toEqual({ ready: true });
  });

  it('fetches the keys again when the status is read, which says since when they are missing', async () => {
    const { issuer, validator, elapse } = await begin();
    issuer.behave = { jwks: 'status-500' };
    expect(await verdictOn(validator, issuer.token())).toBe('down: keys');
    expect(validator.status()).toMatchObject({ ready: false, since: expect.stringMatching(/^\d{4}-.*Z$/u) as unknown });
    issuer.behave = {};
    elapse(60_000);
    await expect.poll(() => validator.status()).toEqual({ ready: true });
  });

  it('fails after three attempts, and tries again for a request a second later', async () => {
    const { issuer, validator, elapse } = await begin();
    issuer.behave = { jwks: 'status-500' };
    expect(await verdictOn(validator, issuer.token())).toBe('down: keys');
    expect(requestsFor(issuer, 'jwks')).toBe(3);
    expect(await verdictOn(validator, issuer.token())).toBe('down: keys'); // without a request: the failure is cached for a second
    expect(requestsFor(issuer, 'jwks')).toBe(3);
    issuer.behave = {};
    elapse(1_000);
    expect(await verdictOn(validator, issuer.token())).toBe('sub: ann');
    expect(validator.status()).toEqual({ ready: true });
  });

  it('succeeds after two bad answers of the issuer', async () => {
    const { issuer, validator } = await begin();
    let calls = 0;
    const good = keysWith(issuer, {});
    issuer.behave = { jwks: () => ((calls += 1) < 3 ? { status: 502, body: '' } : good()) };
    expect(await verdictOn(validator, issuer.token())).toBe('sub: ann');
  });
});

describe('a faulty key set endpoint', () => {
  const many = Array.from({ length: 101 }, (_, i) => newSigningKey('ES256', `k${String(i)}`).publicJwk);
  const faults: [string, Misbehaviour | (() => { json?: unknown; status?: number }), string][] = [
    ['status 500', 'status-500', 'UnexpectedStatus'],
    ['status 401', 'status-401', 'UnexpectedStatus'],
    ['status 404', 'status-404', 'UnexpectedStatus'],
    ['a connection reset', 'reset', 'KeysUnavailable'],
    ['HTML', 'html', 'NotJson'],
    ['half a document', 'garbage', 'NotJson'],
    ['an empty reply', 'empty', 'NotJson'],
    ['a reply of 2 MB', 'huge', 'ReplyTooLarge'],
    ['a redirect to itself', 'redirect', 'RedirectRefused'],
    ['101 keys', () => ({ json: { keys: many } }), 'BadKeySet'],
    ['no keys', () => ({ json: { keys: [] } }), 'BadKeySet'],
    ['keys that are no list', () => ({ json: { keys: 'none' } }), 'BadKeySet'],
    ['a list instead of an object', () => ({ json: [] }), 'BadKeySet'],
    ['null', () => ({ json: null, body: 'null' }), 'BadKeySet'],
  ];
  it.each(faults)('causes an outage instead of a rejected token on %s', async (_, jwks, reason) => {
    const { issuer, validator, log } = await begin();
    issuer.behave = { jwks };
    expect(await verdictOn(validator, issuer.token())).toBe('down: keys');
    expect(validator.status()).toMatchObject({ ready: false, reason });
    expect(JSON.stringify([log, validator.status()])).not.toMatch(/INTERNAL-DETAIL|sign in|padding/);
  });
});

describe('a key rotation', () => {
  it('is detected on the first token of the new key', async () => {
    const { issuer, validator } = await begin();
    await verdictOn(validator, issuer.token());
    issuer.rotate({ keep: true });
    expect(await verdictOn(validator, issuer.token())).toBe('sub: ann');
    expect(requestsFor(issuer, 'jwks')).toBe(2);
  });

  it('causes every cached token to be verified again', async () => {
    const { issuer, validator, elapse } = await begin();
    const old = issuer.token();
    await validator.validate(old);
    issuer.rotate();
    expect(validator.validate(old)).not.toBeInstanceOf(Promise);
    expect(await verdictOn(validator, issuer.token())).toBe('sub: ann');
    expect(await verdictOn(validator, old)).toBe('kid');
    elapse(30_000);
    expect(await verdictOn(validator, old)).toBe('kid');
  });

  it('is detected on a token without a key id too', async () => {
    const { issuer, validator } = await begin();
    const token = () => issuer.token({}, { header: { kid: undefined } });
    expect(await verdictOn(validator, token())).toBe('sub: ann');
    issuer.rotate();
    expect(await verdictOn(validator, token())).toBe('sub: ann');
  });

  it('rejects no valid token under load', async () => {
    const { issuer, validator, elapse } = await begin();
    issuer.delayMs = 5;
    const verdicts: string[] = [];
    let rotations = 0;
    let load = true;
    const user = async (name: string) => {
      while (load) {
        verdicts.push(await verdictOn(validator, issuer.token({ sub: name })));
        await sleep(1);
      }
    };
    const users = Array.from({ length: 20 }, (_, i) => user(`u${String(i)}`));
    const afterVerdicts = async (count: number) => {
      for (const until = verdicts.length + count; verdicts.length < until;) await sleep(5);
    };
    for (; rotations < 5; rotations += 1) {
      await afterVerdicts(40);
      issuer.rotate({ keep: true });
      await afterVerdicts(40);
      elapse(31_000);
    }
    load = false;
    await Promise.all(users);
    expect(verdicts.length).toBeGreaterThan(50);
    expect(verdicts.filter((verdict) => !verdict.startsWith('sub: '))).toEqual([]);
    expect(requestsFor(issuer, 'jwks')).toBeLessThan(5 + 6 * 2);
  });

  it('is checked for at most once in 30 s when tokens have unknown key ids', async () => {
    const { issuer, validator, elapse } = await begin();
    await verdictOn(validator, issuer.token());
    const stranger = newSigningKey('ES256', 'x');
    const guess = (i: number) =>
      verdictOn(validator, issuer.token({}, { key: stranger, header: { kid: `x${String(i)}` } }));
    const verdicts = await Promise.all(Array.from({ length: 100 }, (_, i) => guess(i)));
    expect(new Set(verdicts)).toEqual(new Set(['kid']));
    for (let i = 0; i < 20; i += 1) await guess(i);
    expect(requestsFor(issuer, 'jwks')).toBe(2);
    elapse(30_000);
    await guess(1);
    expect(requestsFor(issuer, 'jwks')).toBe(3);
  });

  it('causes an outage instead of a rejected token when the keys cannot be fetched', async () => {
    const { issuer, validator } = await begin();
    await verdictOn(validator, issuer.token());
    issuer.rotate({ keep: true });
    issuer.behave = { jwks: 'status-500' };
    expect(await verdictOn(validator, issuer.token())).toBe('down: keys');
    expect(await verdictOn(validator, issuer.token())).toBe('down: keys');
    issuer.behave = {};
  });

  it('delays tokens of unknown keys by a second at most, and no token of a known key, while the fetch hangs', async () => {
    const { issuer, validator } = await begin();
    await verdictOn(validator, issuer.token());
    issuer.behave = { jwks: 'hang' };
    const stranger = newSigningKey('ES256', 'x');
    const flood = async (from: number) => {
      const began = performance.now();
      const forged = Array.from({ length: 100 }, (_, i) =>
        issuer.token({}, { key: stranger, header: { kid: `x${String(from + i)}` } }),
      );
      const verdicts = await Promise.all(forged.map((token) => verdictOn(validator, token)));
      return { verdicts: new Set(verdicts), ms: performance.now() - began };
    };
    const waiting = flood(0);
    expect(await verdictOn(validator, issuer.token({ sub: 'bob' }))).toBe('sub: bob');
    const first = await waiting;
    const second = await flood(100); // the fetch still hangs: nobody waits for it again
    expect(first.verdicts).toEqual(new Set(['down: keys']));
    expect(second.verdicts).toEqual(new Set(['down: keys']));
    expect(first.ms).toBeLessThan(4_000);
    expect(second.ms).toBeLessThan(900);
    expect(requestsFor(issuer, 'jwks')).toBe(2);
  });

  it('is detected although a fetch that started earlier returns the old keys', async () => {
    const { issuer, validator, elapse } = await begin();
    await verdictOn(validator, issuer.token());
    elapse(10 * MINUTE + 1);
    const old = keysWith(issuer, {})();
    let first = true;
    const rest = () => keysWith(issuer, {})();
    issuer.behave = {
      jwks: async () => {
        if (!first) return rest();
        first = false;
        await sleep(100);
        return old;
      },
    };
    await verdictOn(validator, issuer.token()); // starts a renewal by age
    issuer.rotate({ keep: true });
    expect(await verdictOn(validator, issuer.token())).toBe('sub: ann');
  });
});

describe('fetched keys', () => {
  it.each([
    ['10 minutes without Cache-Control', {}, 10 * MINUTE],
    ['the max-age of Cache-Control', { 'cache-control': 'public, max-age=300' }, 5 * MINUTE],
    ['at least a minute', { 'cache-control': 'max-age=0' }, MINUTE],
    ['at most a day', { 'cache-control': 'max-age=999999999' }, DAY],
  ])('are renewed after %s', async (_, headers, age) => {
    const { issuer, validator, elapse } = await begin();
    issuer.behave = { jwks: keysWith(issuer, headers) };
    await verdictOn(validator, issuer.token());
    elapse(age - 5_000);
    await verdictOn(validator, issuer.token({ exp: 9e9 }));
    expect(requestsFor(issuer, 'jwks')).toBe(1);
    elapse(5_001);
    await verdictOn(validator, issuer.token({ exp: 9e9 }));
    await expect.poll(() => requestsFor(issuer, 'jwks')).toBe(2);
  });

  it('delay no request when they have just become stale', async () => {
    const { issuer, validator, elapse } = await begin();
    await verdictOn(validator, issuer.token());
    elapse(10 * MINUTE + 1);
    issuer.behave = { jwks: 'hang' };
    const started = performance.now();
    expect(await verdictOn(validator, issuer.token())).toBe('sub: ann');
    expect(performance.now() - started).toBeLessThan(1_000);
  });

  it('delay a request by a second at most when they are long stale and the issuer hangs', async () => {
    const { issuer, validator, elapse } = await begin();
    await verdictOn(validator, issuer.token());
    elapse(12 * MINUTE);
    issuer.behave = { jwks: 'hang' };
    const timed = async () => {
      const began = performance.now();
      return { verdict: await verdictOn(validator, issuer.token()), ms: performance.now() - began };
    };
    const together = await Promise.all([timed(), timed()]);
    const after = [await timed(), await timed()];
    const verdicts = [...together, ...after].map(({ verdict }) => verdict);
    expect(new Set(verdicts)).toEqual(new Set(['sub: ann']));
    expect(Math.max(...together.map(({ ms }) => ms))).toBeLessThan(2_000);
    expect(Math.max(...after.map(({ ms }) => ms))).toBeLessThan(950);
  });

  it('delay no request when they are long stale and a failed fetch is known', async () => {
    const { issuer, validator, elapse } = await begin();
    await verdictOn(validator, issuer.token());
    await issuer.crash();
    elapse(12 * MINUTE);
    expect(await verdictOn(validator, issuer.token())).toBe('sub: ann');
    await expect.poll(() => validator.status().reason).toBe('KeysUnavailable');
    await issuer.recover();
    issuer.behave = { jwks: 'hang' };
    elapse(MINUTE);
    const began = performance.now();
    expect(await verdictOn(validator, issuer.token())).toBe('sub: ann');
    expect(performance.now() - began).toBeLessThan(950);
  });

  it('are replaced before use when they are long stale, so that a withdrawn key is rejected', async () => {
    const { issuer, validator, elapse } = await begin();
    const old = issuer.token({ exp: 9e9 });
    await verdictOn(validator, old);
    issuer.rotate();
    elapse(60 * MINUTE);
    expect(await verdictOn(validator, old)).toBe('kid');
  });
});

describe('an issuer outage', () => {
  it('does not affect cached tokens, but leaves other tokens without a verdict', async () => {
    const { issuer, validator, elapse } = await begin();
    const known = issuer.token({ sub: 'known' });
    const identity = await validator.validate(known);
    await issuer.crash();
    issuer.rotate();
    expect(validator.validate(known)).toBe(identity);
    expect(await verdictOn(validator, issuer.token({ sub: 'new' }))).toMatch(/^down: /);
    const fresh = validatorFor(testScope(), issuer.url);
    expect(await verdictOn(fresh.validator, known)).toMatch(/^down: /);
    await issuer.recover();
    elapse(31_000);
    expect(await verdictOn(validator, issuer.token({ sub: 'new' }))).toBe('sub: new');
  });

  it.each([
    ['10 minutes', {}, 10 * MINUTE],
    ['a day', { 'cache-control': 'max-age=86400' }, DAY],
  ])('keeps the keys in use for 24 hours beyond their maximum age of %s', async (_, headers, age) => {
    const { issuer, validator, elapse, log } = await begin();
    const token = issuer.token({ exp: 9e9 });
    issuer.behave = { jwks: keysWith(issuer, headers) };
    await verdictOn(validator, token);
    await issuer.crash();
    elapse(age + DAY - 5_000);
    expect(await verdictOn(validator, token)).toBe('sub: ann');
    expect(validator.status()).toMatchObject({ ready: true, reason: 'KeysUnavailable' });
    expect(log.filter(({ level }) => level === 'warn')).toHaveLength(1);
    elapse(61_000);
    expect(await verdictOn(validator, token)).toMatch(/^down: /);
    expect(validator.status()).toMatchObject({ ready: false });
    await issuer.recover();
    elapse(1_000);
    expect(await verdictOn(validator, token)).toBe('sub: ann');
  });

  it('does not interrupt requests with valid tokens, and the status is ready afterwards', async () => {
    const { issuer, validator, elapse } = await begin();
    const token = issuer.token({ exp: 9e9 });
    await verdictOn(validator, token);
    await issuer.crash();
    elapse(11 * MINUTE);
    const verdicts: Identity[] = [];
    for (let i = 0; i < 5; i += 1) verdicts.push(await validator.validate(token));
    await issuer.recover();
    elapse(61_000);
    await expect
      .poll(async () => [await verdictOn(validator, token), validator.status()])
      .toEqual(['sub: ann', { ready: true }]);
    expect(verdicts).toHaveLength(5);
  });
});

it.each(Object.entries(HANGING))('a faulty key set endpoint delays a request by 10 s at most: %s', (_fault, ended) =>
  ended(),
);
