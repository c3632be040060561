import { setTimeout as sleep } from 'node:timers/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { startGatewayOver } from '../harness/authenticated-gateway.ts';
import { startSessionServer, WATCHED } from '../harness/backends/session-server.ts';
import { openSession, rpc } from '../harness/clients/raw.ts';
import { eventually } from '../harness/poll.ts';
import { hasRedis, startRedis } from '../harness/redis.ts';
import { testScope, type Scope } from '../harness/scope.ts';
import { get, post } from './pair.ts';
import { sharedParts } from './replicas.ts';

/** Starts a way to Redis on which messages to subscribers wait until `release`. */
async function startLateRedis(scope: Scope, port: number) {
  let gate = Promise.withResolvers<undefined>();
  gate.resolve(undefined);
  const server = createServer((client) => {
    const redis = connect(port, '127.0.0.1');
    let subscribes = false;
    client.on('data', (data) => {
      subscribes ||= data.includes('\r\nsubscribe\r\n');
      redis.write(data);
    });
    redis.on('data', (data) => {
      if (!subscribes) client.write(data);
      else void gate.promise.then(() => client.write(data));
    });
    for (const [one, other] of [
      [client, redis],
      [redis, client],
    ] as const)
      one.on('error', () => undefined).on('close', () => other.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  scope.defer(() => void server.close());
  return {
    port: (server.address() as AddressInfo).port,
    hold: () => {
      gate = Promise.withResolvers<undefined>();
    },
    release: () => {
      gate.resolve(undefined);
    },
  };
}

describe.skipIf(!hasRedis)('a replica that does not know yet that another one has the stream of a client', () => {
  it('passes the messages of backends on to it', async () => {
    const scope = testScope();
    const [redis, backend] = await Promise.all([startRedis(scope), startSessionServer(scope)]);
    const late = await startLateRedis(scope, redis.port);
    const parts = sharedParts(redis, backend.url);
    const [first, second] = await Promise.all([
      startGatewayOver(scope, sharedParts({ ...redis, port: late.port }, backend.url)),
      startGatewayOver(scope, parts),
    ]);
    const session = await openSession(first.url);
    const before = await get(first.url, session);
    await post(first.url, session, rpc('resources/subscribe', { uri: WATCHED }, 2));
    await eventually('an update arrives', () => backend.touchAll().then(() => before.ids.length > 0));
    await sleep(100); // the last of them
    before.cut();
    late.hold();
    const after = await get(second.url, session, before.lastId());
    const known = after.messages.length;
    await backend.touchAll();
    await eventually('the update arrives at the other replica', () => after.messages.length > known);
    late.release();
    await eventually('later ones, too', () => backend.touchAll().then(() => after.messages.length > known + 1));
    expect(new Set(after.ids).size).toBe(after.ids.length);
  });
});
