import { beforeAll, expect, it } from 'vitest';
import type { RawResponse } from '../../harness/clients/raw.ts';
import { rpc } from '../../harness/clients/raw.ts';
import { blockScope } from '../../harness/scope.ts';
import { mutate, pick, place, seeded, type Random } from './mutations.ts';
import { startWorld, type World } from './world.ts';

const REQUESTS = 1_500;
const AT_ONCE = 16;
/** Length of a part of a token that counts as a leak. */
const WINDOW = 10;

const SEED = Math.floor(Math.random() * 2 ** 32);
const scope = blockScope();
let world: World;

beforeAll(async () => {
  world = await startWorld(scope);
});

/** Returns every part of `WINDOW` characters of these texts. */
function windows(texts: Iterable<string>): Set<string> {
  const found = new Set<string>();
  for (const text of texts)
    for (let at = 0; at + WINDOW <= text.length; at += 1) found.add(text.slice(at, at + WINDOW));
  return found;
}

/** Returns the first leaked part of a token in a text, with its surroundings. */
function leakIn(text: string, material: ReadonlySet<string>): string | undefined {
  for (let at = 0; at + WINDOW <= text.length; at += 1) {
    const run = text.slice(at, at + WINDOW);
    if (material.has(run)) return text.slice(Math.max(0, at - 40), at + 60);
  }
  return undefined;
}

interface Attempt {
  readonly lines: readonly string[];
  readonly token: string;
  readonly answer: RawResponse;
}

async function attempt(random: Random, originals: readonly string[]): Promise<Attempt> {
  const token = mutate(random, pick(random, originals));
  const lines = place(random, token);
  const body = pick(random, [undefined, rpc('tools/list'), '']);
  const method = pick(random, ['POST', 'POST', 'GET', 'DELETE']);
  const answer = await world.send({ method, lines, ...(body !== undefined && { body }) });
  return { lines, token, answer };
}

/** Decodes the parts of a token, so that two encodings of one signature are equal. */
const meaning = (token: string): string =>
  token
    .split('.')
    .map((part) => Buffer.from(part, 'base64url').toString('hex'))
    .join('.');

it(`no answer, header, body or log line contains parts of a token, for random requests (seed ${String(SEED)})`, async () => {
  const random = seeded(SEED);
  const { issuer, stranger } = world;
  const long = { groups: Array.from({ length: 60 }, (_each, index) => `group-${String(index)}`) };
  const originals = [
    ...[
      issuer.token(),
      issuer.token(long),
      issuer.token({ exp: 1 }),
      issuer.token({ aud: 'else' }),
      issuer.token({}, { key: issuer.keys[1]! }),
    ],
    ...[stranger.token(), issuer.opaqueToken(), issuer.opaqueToken({ exp: 1 }), 'opaque-token-of-nobody-0123456789'],
  ];
  const attempts: Attempt[] = [];
  for (let sent = 0; sent < REQUESTS; sent += AT_ONCE)
    attempts.push(...(await Promise.all(Array.from({ length: AT_ONCE }, () => attempt(random, originals)))));

  const material = windows([...originals, ...attempts.map(({ token }) => token)]);
  expect(leakIn(`{"error":"${originals[0]!.slice(30, 45)}"}`, material)).toBeDefined();
  await expect.poll(world.vmcp.output).toContain('bearer token refused');
  const leaks = attempts.map(({ answer: { headers, body } }) =>
    leakIn(`${JSON.stringify(headers)}\n${body}`, material),
  );
  expect(leaks.filter((leak) => leak !== undefined)).toEqual([]);
  expect(leakIn(world.vmcp.output(), material)).toBeUndefined();

  const statuses = new Map<number, number>();
  for (const { answer } of attempts) statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
  expect([...statuses.keys()].filter((status) => ![200, 400, 401, 403, 404, 406, 503].includes(status))).toEqual([]);
  expect(statuses.get(401)).toBeGreaterThan(REQUESTS / 3);
  const good = new Set(originals.map(meaning));
  const letIn = attempts.filter(
    ({ answer, token }) => [200, 404, 406].includes(answer.status) && !good.has(meaning(token)),
  );
  expect(letIn.map(({ lines, answer }) => ({ lines, status: answer.status }))).toEqual([]);
});
