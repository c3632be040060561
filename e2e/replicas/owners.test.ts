import { describe, expect, it } from 'vitest';
import { startGatewayOver } from '../harness/authenticated-gateway.ts';
import { startSessionServer } from '../harness/backends/session-server.ts';
import { MCP_HEADERS, openSession, raw, rpc, type RawResponse } from '../harness/clients/raw.ts';
import { startIssuer } from '../harness/issuer.ts';
import { hasRedis, startRedis } from '../harness/redis.ts';
import { testScope } from '../harness/scope.ts';
import { sharedParts } from './replicas.ts';

const USERS = ['ann', 'bob', 'carl'] as const;
type User = (typeof USERS)[number];
const STEPS = 600;
const AT_ONCE = 6;

interface Owned {
  readonly owner: User;
  readonly id: string;
  /** True from the moment when a DELETE is sent: until its answer both outcomes are right. */
  isLeaving: boolean;
  hasEnded: boolean;
}

/** Returns a generator of numbers below `count`, the same for each seed. */
function seeded(seed: number): (count: number) => number {
  let state = seed;
  return (count) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
}

describe.skipIf(!hasRedis)('random requests of three users at three gateways', () => {
  it.each([1, 2])('never reach the session of another user (seed %i)', async (seed) => {
    const scope = testScope();
    const [redis, backend, issuer] = await Promise.all([
      startRedis(scope),
      startSessionServer(scope),
      startIssuer(scope),
    ]);
    const parts = { ...sharedParts(redis, backend.url), issuer };
    const urls = (await Promise.all([1, 2, 3].map(() => startGatewayOver(scope, parts)))).map(({ url }) => url);
    const random = seeded(seed);
    const bearers = new Map(USERS.map((sub) => [sub, `Bearer ${issuer.token({ sub })}`]));
    const as = (user: User) => ({ authorization: bearers.get(user) ?? '' });
    const owned: Owned[] = [];
    const counts = { served: 0, refused: 0 };

    const send = (user: User, id: string, method: 'POST' | 'DELETE', text: string): Promise<RawResponse> =>
      raw(urls[random(3)] ?? '', {
        method,
        headers: { ...MCP_HEADERS, ...as(user), 'mcp-session-id': id },
        ...(method === 'POST' && { body: rpc('tools/call', { name: 'echo', arguments: { text } }) }),
      });

    const request = async (user: User, target: Owned, step: number): Promise<void> => {
      const text = `${user}-${String(step)}`;
      const hadEnded = target.hasEnded;
      const { status, body } = await send(user, target.id, 'POST', text);
      if (user !== target.owner || hadEnded) {
        expect([status, body.includes(text)], text).toEqual([404, false]);
        counts.refused += 1;
      } else if (target.isLeaving) expect([200, 404]).toContain(status);
      else {
        expect([status, body.includes(`"${text}"`)], `${text} ${body}`).toEqual([200, true]);
        counts.served += 1;
      }
    };

    const end = async (user: User, target: Owned): Promise<void> => {
      const isOwner = user === target.owner;
      const wasLeaving = target.isLeaving;
      if (isOwner) target.isLeaving = true;
      const { status } = await send(user, target.id, 'DELETE', '');
      if (!isOwner) expect(status).toBe(404);
      else if (!wasLeaving) expect(status).toBe(204);
      if (isOwner) target.hasEnded = true;
    };

    const act = async (step: number): Promise<void> => {
      const user = USERS[random(3)] ?? 'ann';
      const [choice, target] = [random(20), owned[random(Math.max(owned.length, 1))]];
      if (target === undefined || choice < 3) {
        const { id } = await openSession(urls[random(3)] ?? '', undefined, as(user));
        expect(owned.map((each) => each.id)).not.toContain(id);
        owned.push({ owner: user, id, isLeaving: false, hasEnded: false });
      } else if (choice < 5) await end(user, target);
      else await request(choice < 14 ? target.owner : user, target, step);
    };

    for (let step = 0; step < STEPS; step += AT_ONCE)
      await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => act(step + at)));
    expect(counts.served).toBeGreaterThan(50);
    expect(counts.refused).toBeGreaterThan(50);
  });
});
