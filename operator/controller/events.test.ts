import { describe, expect, it } from 'vitest';
import { ApiError } from '../../gateway/kube/client.ts';
import type { KubeObject, ResourceType } from '../../gateway/kube/resource.ts';
import { EventRecorder } from './events.ts';
import { ManualClock } from './testdata/manual-clock.ts';

/** Events as the API server keeps them. */
class EventServer {
  readonly events = new Map<string, KubeObject>();
  requests = 0;
  most = 0;
  #open = 0;

  async #request<T>(answer: () => T): Promise<T> {
    this.requests += 1;
    this.#open += 1;
    this.most = Math.max(this.most, this.#open);
    await new Promise((resolve) => setImmediate(resolve));
    this.#open -= 1;
    return answer();
  }

  create = (_type: ResourceType, _namespace: string, object: KubeObject) =>
    this.#request(() => {
      const { name } = object.metadata;
      if (this.events.has(name)) throw new ApiError({ status: 409, reason: 'AlreadyExists', message: 'exists' });
      this.events.set(name, object);
      return object;
    });

  mergePatch = (_type: ResourceType, _namespace: string, name: string, patch: object) =>
    this.#request(() => {
      const old = this.events.get(name);
      if (!old) throw new ApiError({ status: 404, reason: 'NotFound', message: 'none' });
      const merged = { ...old, ...patch };
      this.events.set(name, merged);
      return merged;
    });
}

const server = (name = 'github', uid = 'u1'): KubeObject => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'MCPServer',
  metadata: { namespace: 'team', name, uid, resourceVersion: '7' },
});
const note = (message = 'Secret "a" does not exist') =>
  ({ type: 'Warning', reason: 'SecretNotFound', message }) as const;

function setUp(api = new EventServer()) {
  const clock = new ManualClock();
  const problems: unknown[] = [];
  const recorder = new EventRecorder({
    client: api,
    clock,
    reporter: 'operator-0',
    log: { debug: (_message, facts) => problems.push(facts) },
  });
  const record = async (...args: Parameters<EventRecorder['record']>) => {
    recorder.record(...args);
    await recorder.drained();
  };
  return { api, clock, recorder, record, problems, all: () => [...api.events.values()] };
}

describe('EventRecorder', () => {
  it('writes an event that kubectl describe shows with its object', async () => {
    const { record, all } = setUp();
    await record(server(), note());
    expect(all()).toMatchObject([
      {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { namespace: 'team', name: expect.stringMatching(/^github\.[0-9a-f]{16}$/u) },
        involvedObject: { kind: 'MCPServer', namespace: 'team', name: 'github', uid: 'u1' },
        type: 'Warning',
        reason: 'SecretNotFound',
        count: 1,
        firstTimestamp: '2026-01-01T00:00:00Z',
        source: { component: 'vmcp-operator' },
        reportingInstance: 'operator-0',
      },
    ]);
  });

  it('counts repeated events and writes them at most once a minute', async () => {
    const { api, clock, record, all } = setUp();
    for (let i = 0; i < 60; i += 1) {
      await record(server(), note());
      clock.advance(2_000);
    }
    expect(api.requests).toBe(2);
    expect(all()).toMatchObject([{ count: 2, lastTimestamp: '2026-01-01T00:01:00Z' }]);
  });

  it('keeps one event per object, reason and message', async () => {
    const { record, all } = setUp();
    await record(server(), note());
    await record(server('github', 'u2'), note());
    await record(server(), note('another'));
    await record(server(), { ...note(), reason: 'Other' });
    expect(all()).toHaveLength(4);
  });

  it('continues the count of an event that an earlier leader wrote', async () => {
    const api = new EventServer();
    await setUp(api).record(server(), note());
    const { clock, record, all, problems } = setUp(api);
    clock.advance(5_000);
    await record(server(), note());
    expect(all()).toMatchObject([{ lastTimestamp: '2026-01-01T00:00:05Z' }]);
    expect(problems).toEqual([]);
  });

  it('creates an event again that has expired in the API server', async () => {
    const { api, clock, record, all } = setUp();
    await record(server(), note());
    api.events.clear();
    clock.advance(61_000);
    await record(server(), note());
    expect(all()).toHaveLength(1);
  });

  it('cuts long messages and names', async () => {
    const { record, all } = setUp();
    await record(server('a'.repeat(253)), note('x'.repeat(5_000)));
    const [event] = all();
    expect(event?.['message']).toHaveLength(1_024);
    expect(event?.metadata.name.length).toBeLessThanOrEqual(253);
  });

  it('sends at most two events at a time and drops new ones when a thousand are waiting', async () => {
    const { api, recorder } = setUp();
    for (let i = 0; i < 3_000; i += 1) recorder.record(server('s', String(i)), note());
    await recorder.drained();
    expect(api.most).toBe(2);
    expect(api.events.size).toBeGreaterThanOrEqual(1_000);
    expect(api.events.size).toBeLessThan(1_010);
  });

  it('neither blocks nor throws when the API server rejects events', async () => {
    const { api, record, problems } = setUp();
    api.create = () => Promise.reject(new ApiError({ status: 403, reason: 'Forbidden', message: 'not allowed' }));
    await record(server(), note());
    expect(problems).toEqual([{ reason: 'SecretNotFound', problem: 'not allowed' }]);
  });
});
