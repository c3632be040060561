import { describe, expect, it } from 'vitest';
import { startGatewayOver } from '../harness/authenticated-gateway.ts';
import { startHttpBackend } from '../harness/backends/http.ts';
import { WATCHED } from '../harness/backends/session-server.ts';
import { openSession, rpc, rpcReply, textOf, type RawSession } from '../harness/clients/raw.ts';
import { eventually } from '../harness/poll.ts';
import { hasRedis, startRedis } from '../harness/redis.ts';
import { testScope } from '../harness/scope.ts';
import { end, get, post, startPair } from './pair.ts';
import { sharedParts } from './replicas.ts';

const count = async (url: string, session: RawSession): Promise<string> =>
  textOf(rpcReply(await post(url, session, rpc('tools/call', { name: 'count', arguments: {} }))));

const ROOTS_CHANGED = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });

describe.skipIf(!hasRedis)('backends of two gateways that share sessions', () => {
  it('learn of changed roots, also when only the other gateway has used them', async () => {
    const {
      gateways: [first, second],
      backend,
    } = await startPair(testScope());
    const session = await openSession(first.url);
    await count(second.url, session);
    expect((await post(first.url, session, ROOTS_CHANGED)).status).toBe(202);
    await eventually('the backend knows', () => backend.rootChanges() > 0, { timeoutMs: 5_000 });
  });

  it('learn of changed roots and of a new log level at the connections of both', async () => {
    const scope = testScope();
    const [redis, backend] = await Promise.all([startRedis(scope), startHttpBackend(scope, 'sdk-1-sse', 'b')]);
    const parts = { ...sharedParts(redis, ''), backends: [{ name: 'b', transport: 'sse' as const, url: backend.url }] };
    const [first, second] = await Promise.all([startGatewayOver(scope, parts), startGatewayOver(scope, parts)]);
    const session = await openSession(first.url);
    for (const { url } of [first, second])
      expect(textOf(rpcReply(await post(url, session, rpc('tools/call', { name: 'whoami' }))))).toMatch(/^b /u);
    await post(first.url, session, ROOTS_CHANGED);
    await post(first.url, session, rpc('logging/setLevel', { level: 'error' }));
    const received = (name: string) => backend.seen.filter(({ method }) => method === name).length;
    await eventually('both have sent the roots', () => received('notifications/roots/list_changed') === 2);
    await eventually('both have sent the level', () => received('logging/setLevel') === 2);
  });

  it('send updates of resources also after one gateway gets another configuration', async () => {
    const {
      gateways: [first],
      parts,
      backend,
    } = await startPair(testScope());
    const session = await openSession(first.url);
    const stream = await get(first.url, session);
    await post(first.url, session, rpc('resources/subscribe', { uri: WATCHED }, 2));
    await eventually('an update arrives', () => backend.touchAll().then(() => stream.ids.length > 0));
    await first.swap({ ...parts, timeout: '7s' });
    const before = stream.ids.length;
    await eventually('more updates arrive', () => backend.touchAll().then(() => stream.ids.length > before + 1));
  });

  it('announce the lists of the other configuration each time that the client changes the gateway', async () => {
    const {
      gateways: [first, second],
      parts,
    } = await startPair(testScope());
    await second.swap({ ...parts, aggregation: { conflict_resolution: 'prefix', prefix_format: 'other_' } });
    const session = await openSession(first.url);
    for (const { url } of [first, second]) await post(url, session, rpc('tools/list'));
    for (const { url } of [second, first, second, first]) {
      const stream = await get(url, session);
      await stream.next(({ method }) => method === 'notifications/tools/list_changed');
    }
  });

  it('have a session for each gateway if each gateway has a server of its own', async () => {
    const { gateways, parts } = await startPair(testScope());
    const backends = parts.backends.map((backend) => ({ ...backend, per_replica: true }));
    for (const gateway of gateways) await gateway.swap({ ...parts, backends });
    const [first, second] = gateways;
    const session = await openSession(first.url);
    expect(await count(first.url, session)).toBe('1');
    expect(await count(second.url, session)).toBe('1');
    expect(await count(first.url, session)).toBe('2');
  });

  it('keep their sessions when one gateway gets another configuration', async () => {
    const {
      gateways: [first, second],
      parts,
      backend,
    } = await startPair(testScope());
    const session = await openSession(first.url);
    expect(await count(first.url, session)).toBe('1');
    expect(await count(second.url, session)).toBe('2');
    const before = new Set(backend.open);
    await first.swap({ ...parts, timeout: '7s' });
    expect(await count(second.url, session)).toBe('3');
    expect(await count(first.url, session)).toBe('4');
    await first.swap({ ...parts, backends: [] });
    expect(await count(second.url, session)).toBe('5');
    await first.swap(parts);
    await eventually('the tool is listed again', async () => (await count(first.url, session)) === '6');
    await second.swap({ ...parts, timeout: '7s' });
    await end(second.url, session);
    await eventually('the session has ended', () => [...before].every((id) => !backend.open.has(id)));
  });
});
