import { describe, expect, it } from 'vitest';
import { registrationStore } from '../open-upstreams.ts';
import { memoryStore } from '../../storage/memory.ts';
import { StoreUnavailable } from '../../storage/store.ts';
import type { RegistrationStore } from '../upstream.ts';
import { UpstreamError } from '../upstream-error.ts';
import type { ClientRecord } from './register.ts';
import { RegisteredClient, type Registrar } from './registered-client.ts';

const HOUR = 3_600_000;

/** Starts replicas over one store, with a provider that counts its clients. */
function replicas(change: (index: number) => Partial<ClientRecord> = () => ({})) {
  let now = Date.now();
  let count = 0;
  let fault: UpstreamError | undefined;
  const logged: string[] = [];
  const line = (message: string, facts: object = {}) => void logged.push(`${message} ${JSON.stringify(facts)}`);
  const registrar: Registrar = {
    async register() {
      await Promise.resolve();
      if (fault) throw fault;
      count += 1;
      const [client_id, client_secret] = [`c${String(count)}`, `the secret of c${String(count)}`];
      const fixed = {
        issuer: 'https://idp.example',
        redirect_uri: 'https://a.example/cb',
        auth_method: 'client_secret_basic',
      };
      return { ...fixed, client_id, client_secret, ...change(count) };
    },
    renew: (old) =>
      fault
        ? Promise.reject(fault)
        : Promise.resolve({ ...old, client_secret: 'renewed', secret_expires_at: now + HOUR }),
  };
  const store = registrationStore(memoryStore(() => now));
  const open = (facts: readonly string[] = ['a'], from: RegistrationStore = store) =>
    new RegisteredClient({
      ...{ facts, registrar, store: from, name: 'git', now: () => now },
      log: { warn: line, info: line, debug: line },
    });
  return {
    ...{ open, store, logged, count: () => count },
    advance: (ms: number) => void (now += ms),
    fail: (error: UpstreamError | undefined) => void (fault = error),
  };
}

describe('a registered client', () => {
  it('is registered once by all replicas, and kept', async () => {
    const { open, count, logged } = replicas();
    const [one, two] = [open(), open()];
    expect(one.clientId).toBe('');
    const records = await Promise.all([one.current(), one.current(), two.current()]);
    expect(new Set(records.map(({ client_id: id }) => id))).toEqual(new Set(['c1']));
    const restarted = open();
    expect([await restarted.isCurrent('c1'), await restarted.isCurrent('c2'), restarted.clientId]).toEqual([
      true,
      false,
      'c1',
    ]);
    expect((await restarted.current()).client_secret).toBe('the secret of c1');
    expect(count()).toBe(1);
    expect(logged.join()).not.toContain('the secret');
  });

  it('is another one for other facts', async () => {
    const { open } = replicas();
    expect((await open(['a', 'b']).current()).client_id).toBe('c1');
    expect((await open(['a', 'c']).current()).client_id).toBe('c2');
    expect((await open(['a', 'b']).current()).client_id).toBe('c1');
  });

  it('is replaced after the provider has rejected it, once by all replicas', async () => {
    const { open, count, advance } = replicas();
    const [one, two] = [open(), open()];
    await Promise.all([one.current(), two.current()]);
    await one.distrust('c1');
    expect((await one.current()).client_id).toBe('c2');
    expect((await two.current()).client_id).toBe('c1');
    advance(1_000);
    expect(await two.isCurrent('c2')).toBe(true);
    await two.distrust('c1');
    expect((await two.current()).client_id).toBe('c2');
    expect(count()).toBe(2);
  });

  it('is renewed or replaced when its secret expires', async () => {
    const { open, advance } = replicas((index) => ({
      secret_expires_at: Date.now() + index * HOUR,
      ...(index === 1 && { registration_uri: 'https://idp.example/reg/c1', registration_token: 't' }),
    }));
    const client = open();
    await client.current();
    advance(HOUR);
    expect(await client.current()).toMatchObject({ client_id: 'c1', client_secret: 'renewed' });
    const other = replicas((index) => ({ secret_expires_at: Date.now() + index * HOUR }));
    const unrenewed = other.open();
    await unrenewed.current();
    other.advance(HOUR);
    expect((await unrenewed.current()).client_id).toBe('c2');
  });

  it('is registered later when the provider or the store is down', async () => {
    const { open, fail, store } = replicas();
    const client = open();
    fail(new UpstreamError('unavailable', 'down'));
    await expect(client.current()).rejects.toMatchObject({ fault: 'unavailable' });
    fail(undefined);
    expect((await client.current()).client_id).toBe('c1');
    const down: RegistrationStore = { ...store, get: () => Promise.reject(new StoreUnavailable('down')) };
    await expect(open(['b'], down).current()).rejects.toMatchObject({ fault: 'unavailable' });
    await expect(open(['b'], down).isCurrent('c1')).rejects.toThrow(StoreUnavailable);
    await open(['b'], down).distrust('c1');
  });
});
