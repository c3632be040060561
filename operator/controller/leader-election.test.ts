import { describe, expect, it } from 'vitest';
import { ApiError } from '../../gateway/kube/client.ts';
import type { KubeObject } from '../../gateway/kube/resource.ts';
import { LeaderElector, type LeaseClient } from './leader-election.ts';
import { ManualClock } from './testdata/manual-clock.ts';

/** API server with one Lease. It rejects updates with another resourceVersion. */
class LeaseServer {
  lease: KubeObject | undefined;
  writes = 0;
  /** Faults by the identity of the client; `hang` means no response. */
  readonly faults = new Map<string, 'down' | 'hang'>();

  as(identity: string): LeaseClient {
    const ask = async <T>(answer: () => T): Promise<T> => {
      const fault = this.faults.get(identity);
      if (fault === 'hang') await new Promise(() => undefined);
      if (fault === 'down') throw new ApiError({ status: 0, reason: 'Unreachable', message: 'connection refused' });
      return answer();
    };
    return {
      get: () => ask(() => this.lease),
      create: (_type, _namespace, object) => ask(() => this.create(object)),
      update: (object) => ask(() => this.update(object)),
    };
  }

  create(object: KubeObject): KubeObject {
    if (this.lease) throw new ApiError({ status: 409, reason: 'AlreadyExists', message: 'exists' });
    return this.#store(object);
  }

  update(object: KubeObject): KubeObject {
    if (this.lease?.metadata.resourceVersion !== object.metadata.resourceVersion) {
      throw new ApiError({ status: 409, reason: 'Conflict', message: 'modified' });
    }
    return this.#store(object);
  }

  #store(object: KubeObject): KubeObject {
    this.writes += 1;
    this.lease = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.writes) } };
    return this.lease;
  }

  get holder(): unknown {
    return (this.lease?.['spec'] as { holderIdentity?: string } | undefined)?.holderIdentity;
  }
}

function setUp() {
  const clock = new ManualClock();
  const server = new LeaseServer();
  const events: string[] = [];
  const elector = (identity: string) =>
    new LeaderElector({
      client: server.as(identity),
      namespace: 'vmcp-system',
      name: 'vmcp-operator',
      identity,
      clock,
      random: () => 0.5,
      log: { info: () => undefined, warn: () => undefined },
      onElected: () => events.push(`${identity} leads`),
      onLost: () => events.push(`${identity} lost`),
    });
  const settled = async () => {
    for (let i = 0; i < 30; i += 1) await Promise.resolve();
  };
  const pass = async (seconds: number) => {
    for (let i = 0; i < seconds * 10; i += 1) {
      clock.advance(100);
      await settled();
    }
  };
  return { clock, server, events, elector, pass };
}

describe('LeaderElector', () => {
  it('leads at once when the lease is free, and renews it every 2 s', async () => {
    const { server, events, elector, pass } = setUp();
    const a = elector('a');
    a.start();
    await pass(0.1);
    expect(events).toEqual(['a leads']);
    expect(server.lease).toMatchObject({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace: 'vmcp-system', name: 'vmcp-operator' },
      spec: {
        holderIdentity: 'a',
        leaseDurationSeconds: 15,
        leaseTransitions: 0,
        acquireTime: '2026-01-01T00:00:00.100000Z',
      },
    });
    await pass(60);
    expect(server.writes).toBeGreaterThanOrEqual(30);
    expect(server.writes).toBeLessThanOrEqual(31);
    expect(events).toEqual(['a leads']);
  });

  it('elects one of two candidates', async () => {
    const { events, elector, pass } = setUp();
    const [a, b] = [elector('a'), elector('b')];
    a.start();
    b.start();
    await pass(120);
    expect(events).toHaveLength(1);
    expect([a.isLeader, b.isLeader].filter(Boolean)).toHaveLength(1);
  });

  it('takes over within 20 s from a killed leader', async () => {
    const { server, events, elector, pass } = setUp();
    elector('a').start();
    await pass(3);
    elector('b').start();
    await pass(5);
    server.faults.set('a', 'hang'); // a killed process does not renew the lease
    await pass(14);
    expect(events).not.toContain('b leads');
    await pass(6);
    expect(events).toContain('b leads');
    expect(server.lease?.['spec']).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
  });

  it.each(['down', 'hang'] as const)(
    'stops leading before another process may lead when the API server is %s',
    async (fault) => {
      const { clock, server, events, elector, pass } = setUp();
      const a = elector('a');
      a.start();
      await pass(5);
      elector('b').start();
      await pass(5);
      server.faults.set('a', fault);
      const cutAt = clock.now();
      while (a.isLeader) await pass(0.1);
      expect(clock.now() - cutAt).toBeLessThanOrEqual(10_000);
      expect(clock.now() - cutAt).toBeGreaterThanOrEqual(7_900);
      expect(events).toEqual(['a leads', 'a lost']);
      while (events.length < 3) await pass(0.1);
      expect(clock.now() - cutAt).toBeGreaterThan(12_000);
      expect(events[2]).toBe('b leads');
    },
  );

  it('continues to lead when some renewals fail', async () => {
    const { server, events, elector, pass } = setUp();
    elector('a').start();
    await pass(5);
    server.faults.set('a', 'down');
    await pass(7);
    server.faults.delete('a');
    await pass(60);
    expect(events).toEqual(['a leads']);
  });

  it('leads again after it lost the lease if no other process holds it', async () => {
    const { server, events, elector, pass } = setUp();
    elector('a').start();
    await pass(5);
    server.faults.set('a', 'down');
    await pass(30);
    server.faults.delete('a');
    await pass(20);
    expect(events).toEqual(['a leads', 'a lost', 'a leads']);
  });

  it('stops leading when another process has taken the lease', async () => {
    const { server, events, elector, pass } = setUp();
    elector('a').start();
    await pass(5);
    server.update({ ...server.lease!, spec: { ...(server.lease!['spec'] as object), holderIdentity: 'human' } });
    await pass(3);
    expect(events).toEqual(['a leads', 'a lost']);
  });

  it('continues to lead when another client only annotated the lease', async () => {
    const { server, events, elector, pass } = setUp();
    elector('a').start();
    await pass(5);
    server.update({ ...server.lease! });
    await pass(30);
    expect(events).toEqual(['a leads']);
  });

  it('creates the lease again when it was deleted', async () => {
    const { server, events, elector, pass } = setUp();
    elector('a').start();
    await pass(5);
    server.lease = undefined;
    await pass(5);
    expect(events).toEqual(['a leads', 'a lost', 'a leads']);
  });

  it('releases the lease when it stops, so that the next leader need not wait', async () => {
    const { server, events, elector, pass } = setUp();
    const a = elector('a');
    a.start();
    await pass(5);
    elector('b').start();
    await pass(1);
    await a.stop();
    expect(server.holder).toBe('');
    await pass(2.5);
    expect(events).toEqual(['a leads', 'b leads']);
    expect(a.isLeader).toBe(false);
  });

  it('does not change the lease when it stops without leading', async () => {
    const { server, elector, pass } = setUp();
    elector('a').start();
    await pass(1);
    const b = elector('b');
    b.start();
    await pass(1);
    await b.stop();
    await pass(60);
    expect(server.holder).toBe('a');
  });

  it('does not trust the clock of the lease holder', async () => {
    const { clock, server, events, elector, pass } = setUp();
    server.create({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace: 'vmcp-system', name: 'vmcp-operator' },
      spec: { holderIdentity: 'x', leaseDurationSeconds: 15, renewTime: '2001-01-01T00:00:00.000000Z' },
    });
    elector('a').start();
    const startedAt = clock.now();
    while (events.length === 0) await pass(0.1);
    expect(clock.now() - startedAt).toBeGreaterThanOrEqual(15_000);
    expect(clock.now() - startedAt).toBeLessThan(15_500);
  });
});
