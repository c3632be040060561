import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { WATCHED } from '../harness/backends/session-server.ts';
import { capturedEvents } from '../scenarios/audit/lines.ts';
import { openSession, raw, rpc, type RawSession } from '../harness/clients/raw.ts';
import { readStream } from '../harness/clients/event-stream.ts';
import { startIssuer } from '../harness/issuer.ts';
import { eventually } from '../harness/poll.ts';
import { hasRedis } from '../harness/redis.ts';
import { testScope } from '../harness/scope.ts';
import { end, get, post, startPair } from './pair.ts';

const call = (name: string, args: object = {}, id: unknown = 7): string =>
  rpc('tools/call', { name, arguments: args, _meta: { progressToken: 'mine' } }, id);

/** Changes the watched resource until `arrived`: the backend drops updates while the gateway has no stream of the session. */
const touchUntil = (url: string, session: RawSession, arrived: () => boolean) =>
  eventually('an update arrives', async () => {
    expect((await post(url, session, call('touch'))).status).toBe(200);
    return arrived();
  });

/** Returns the id of the event after this one. */
const nextId = (id: string): string => `g.${String(Number(id.slice(2)) + 1)}`;

describe.skipIf(!hasRedis)('two gateways that share sessions', () => {
  it('keep the stream of a call open for a client at the other one whose token is valid', async () => {
    const scope = testScope();
    const issuer = await startIssuer(scope);
    const { first, second } = await startPair(scope, { issuer }, { heartbeatMs: 100 });
    const session = await openSession(first, undefined, { authorization: `Bearer ${issuer.token({ sub: 'ada' })}` });
    const body = call('steps', { count: 20, everyMs: 50 });
    const running = await readStream(scope, first, { headers: session.headers, body });
    await running.next(({ params }) => params?.['progress'] === 2);
    const last = running.lastId();
    running.cut();
    const rest = await get(second, session, last);
    expect(await rest.next(({ id }) => id === 7)).toHaveProperty('result');
  });

  it('continue the numbers of a stream at a replica that had released the session', async () => {
    const scope = testScope();
    const { first, second } = await startPair(scope, { sessionTtl: '3s' });
    const session = await openSession(first);
    const before = await get(first, session);
    expect(before.status).toBe(200);
    await post(first, session, rpc('resources/subscribe', { uri: WATCHED }, 2));
    await touchUntil(first, session, () => before.ids.length > 1);
    before.cut();
    for (let used = 0; used < 14; used += 1) {
      await sleep(500);
      expect((await post(second, session, rpc('tools/list', {}, 3))).status).toBe(200);
    }
    const [kept = '', missed = ''] = before.ids;
    const after = await get(first, session, kept);
    await eventually('the missed update arrives', () => after.ids.includes(missed));
    await touchUntil(first, session, () => after.ids.length > 1);
    expect(after.ids.slice(0, 2)).toEqual([missed, nextId(missed)]);
  });

  it('agree on the holder of the client stream when their messages arrive late', async () => {
    const scope = testScope();
    const { first, second, redis } = await startPair(scope);
    const session = await openSession(first);
    const id = session.headers['mcp-session-id'] ?? '';
    await get(first, session);
    const key = (await redis.cli('KEYS', `*:s:${id}`)).trim();
    const holder = await redis.cli('HGET', key, 'g');
    const late = JSON.stringify({ kind: 'held', from: holder.split(' ')[0], fields: { session: id, holder, turn: 1 } });
    const stream = await get(second, session);
    await post(first, session, rpc('resources/subscribe', { uri: WATCHED }, 2));
    await touchUntil(first, session, () => stream.messages.length > 0);
    await redis.cli('PUBLISH', key.replace(`s:${id}`, 'all'), `${late}\n`);
    await sleep(200);
    await redis.cli('CONFIG', 'RESETSTAT');
    const before = stream.messages.length;
    await post(first, session, call('touch'));
    await eventually('the update arrives', () => stream.messages.length > before);
    await sleep(300);
    const calls = /cmdstat_publish:calls=(\d+)/u.exec(await redis.cli('INFO', 'commandstats'))?.[1];
    expect(Number(calls ?? 0)).toBeLessThan(20);
  });

  it('end the newest session at a backend when a replica with an older one ends the session', async () => {
    const { first, second, backend } = await startPair(testScope());
    await eventually('both gateways have a session of their own', () => backend.open.size === 2);
    const before = new Set(backend.open);
    const session = await openSession(first);
    await post(first, session, call('count'));
    const [old = ''] = [...backend.open].filter((id) => !before.has(id));
    await post(second, session, call('count'));
    const headers = { 'mcp-session-id': old, 'mcp-protocol-version': '2025-11-25', accept: 'application/json' };
    await raw(backend.url, { method: 'DELETE', headers });
    await post(second, session, call('count'));
    const fresh = [...backend.open].filter((id) => !before.has(id));
    expect(fresh).toHaveLength(1);
    expect(fresh).not.toContain(old);
    await end(first, session);
    await eventually('the backend has ended it', () => !fresh.some((id) => backend.open.has(id)));
  });

  it('record the end of a session once when both delete it and their messages are lost', async () => {
    const { stdout, events } = capturedEvents();
    const { first, second, redis } = await startPair(testScope(), { audit: {} }, { stdout });
    for (let round = 0; round < 5; round += 1) {
      const session = await openSession(first);
      await post(second, session, rpc('tools/list', {}, 3));
      await redis.cli('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await end(first, session);
      await end(second, session);
    }
    await sleep(300);
    const ends = events().filter(({ type }) => type === 'vmcp_session_terminated');
    expect(ends.map(({ metadata }) => metadata.extra['reason'])).toEqual(Array.from({ length: 5 }, () => 'deleted'));
  });
  it('treat a session whose record they cannot read as unknown', async () => {
    const { first, second, redis } = await startPair(testScope());
    const session = await openSession(first);
    await redis.cli('HSET', (await redis.cli('KEYS', `*:s:${session.id}`)).trim(), 'f', '{');
    expect((await post(second, session, rpc('tools/list', {}, 3))).status).toBe(404);
    expect((await end(first, session)).status).toBe(204);
  });

  it('record a request for a session of another user at both', async () => {
    const scope = testScope();
    const { stdout, events } = capturedEvents();
    const issuer = await startIssuer(scope);
    const { first, second } = await startPair(scope, { issuer, audit: {} }, { stdout });
    const bearer = (sub: string) => ({ authorization: `Bearer ${issuer.token({ sub })}` });
    const session = await openSession(first, undefined, bearer('ada'));
    const eve = { ...session, headers: { ...session.headers, ...bearer('eve') } };
    for (const url of [first, second]) expect((await post(url, eve, rpc('tools/list', {}, 3))).status).toBe(404);
    await eventually('both are recorded', () => {
      return events().filter(({ type }) => type === 'vmcp_session_binding_violation').length === 2;
    });
  });

  it('record the end of an idle session once, also when the one that opened it was used less', async () => {
    const { stdout, events } = capturedEvents();
    const { first, second } = await startPair(testScope(), { audit: {}, sessionTtl: '2s' }, { stdout });
    const session = await openSession(first);
    for (let used = 0; used < 8; used += 1) {
      await sleep(500);
      await post(second, session, rpc('tools/list', {}, 3));
    }
    const ends = () => events().filter(({ type }) => type === 'vmcp_session_terminated');
    await eventually('the session expires', () => ends().length > 0, { timeoutMs: 8_000 });
    await sleep(1_500);
    expect(ends().map(({ metadata }) => metadata.extra['reason'])).toEqual(['expired']);
  });

  it('end a session earlier that no request has used, and none that was used at the other one', async () => {
    const { stdout, events } = capturedEvents();
    const { first, second } = await startPair(testScope(), { audit: {}, sessionTtl: '12s' }, { stdout });
    const [left, used, listening] = [await openSession(first), await openSession(first), await openSession(first)];
    await post(second, left, '{"jsonrpc":"2.0","method":"notifications/initialized"}');
    await post(second, used, rpc('tools/list', {}, 3));
    await get(second, listening);
    const ends = () => events().filter(({ type }) => type === 'vmcp_session_terminated');
    await eventually('the session expires', () => ends().length > 0, { timeoutMs: 10_000 });
    await sleep(500);
    expect(ends().map(({ source, metadata }) => [source.extra?.session_id, metadata.extra['reason']])).toEqual([
      [left.id, 'expired'],
    ]);
    for (const [session, status] of [
      [left, 404],
      [used, 200],
      [listening, 200],
    ] as const)
      expect((await post(first, session, rpc('tools/list', {}, 4))).status).toBe(status);
  });

  it('lose no event of a call for a client at the other one when messages of the store are lost', async () => {
    const scope = testScope();
    const { first, second, redis } = await startPair(scope);
    const session = await openSession(first);
    const body = call('steps', { count: 60, everyMs: 50 });
    const running = await readStream(scope, first, { headers: session.headers, body });
    await running.next(({ params }) => params?.['progress'] === 2);
    let last = running.lastId();
    const seen = new Set(running.ids);
    running.cut();
    let isAnswered = false;
    for (let round = 0; !isAnswered && round < 10; round += 1) {
      const rest = await get(second, session, last);
      await eventually('events arrive', () => rest.ids.length > 5 || rest.isOver());
      if (round === 0) await redis.cli('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await eventually('the stream ends', () => rest.isOver());
      for (const each of rest.ids) seen.add(each);
      last = rest.lastId();
      isAnswered = rest.messages.some(({ id }) => id === 7);
    }
    expect(isAnswered).toBe(true);
    const numbers = [...seen].map((id) => Number(id.split('.')[1])).toSorted((one, other) => one - other);
    expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, index) => index + 1));
  });
});
