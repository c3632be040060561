import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { ScriptedBrowser } from '../harness/browser/scripted-browser.ts';
import { blockScope } from '../harness/scope.ts';
import { temporaryFolder } from '../harness/vmcp.ts';
import { startAuthServer, type Gateway } from '../scenarios/auth-server/gateway.ts';
import { OAuthClient } from '../scenarios/auth-server/oauth-client.ts';
import { openBearerSession, type BearerSession } from '../scenarios/bearer-session.ts';
import { GENEROUS } from '../scenarios/threats/rates.ts';
import {
  authServerEndpoints,
  managementEndpoints,
  mcpEndpoints,
  ownEndpoints,
  type Endpoint,
} from './limiter/endpoints.ts';
import { FORM, hold, JSON_TYPE, piecesOf, requestOf, send } from './limiter/send.ts';
import { PARTS, SHAPES, type Shape } from './limiter/shapes.ts';
import { reportingTo, usageOf, type Usage } from './limiter/usage.ts';

const KIB = 1024;
const MIB = KIB * KIB;
const SMALL = 60 * KIB;
const LARGE = 1_000 * KIB;
/** Processor time that a request may take: for itself, and for each MiB. A linear reader takes up to a third of it. */
const FLOOR_MS = 30;
const MS_PER_MIB = 400;
/**
 * Less than this is noise. More may be this many times the time of small requests with as many bytes in all: values of a large
 * request outlive collections of garbage, which copy them. `JSON.parse` takes 2 times as long for each byte of lists in lists,
 * and an endpoint 2.7 to 3.6 times on an idle machine.
 */
const NOISE_MS = 60;
const MOST_GROWTH = 6;
/** Small requests, one after the other, that have the bytes of a large request: with a quadratic reader they take a 16th of its time. */
const SMALL_REQUESTS = Math.round(LARGE / SMALL);
/** Shapes that take less than this together are not measured one by one. */
const CHEAP_MS = 2;
const CHEAP_MS_PER_MIB = 50;
/** A slow answer is measured again: the compiler and the collector of garbage run at any time. */
const ATTEMPTS = 3;

const POLICY = 'permit(principal, action, resource) when { context has arg_path && context.arg_path == "x" };';

const scope = blockScope();
let gateway: Gateway;
let read: (command?: 'live') => Promise<Usage>;
let session: BearerSession;
/** Header lines of a user with a session; the first has the token. */
let user: readonly string[] = [];

beforeAll(async () => {
  const socket = join(await temporaryFolder(scope), 'usage.sock');
  const variant = { authServer: { rateLimits: GENEROUS }, policies: [POLICY] };
  gateway = await startAuthServer(scope, variant, { env: reportingTo(socket) });
  read = await usageOf(scope, socket);
  const client = await OAuthClient.register(gateway.issuer);
  const { access_token: token } = await client.login(new ScriptedBrowser({ user: 'ann' }));
  session = await openBearerSession(gateway.url, token);
  const { headers } = session;
  user = ['authorization', 'mcp-session-id', 'mcp-protocol-version'].map((name) => `${name}: ${headers[name] ?? ''}`);
});

const portOf = ({ listener }: Endpoint): number =>
  listener === 'public' ? gateway.vmcp.port : gateway.vmcp.managementPort;

interface Cost {
  readonly ms: number;
  readonly bytes: number;
  readonly statuses: readonly number[];
}

/** Sends an endpoint these shapes at once, and again as often as asked. Returns undefined where it has no place for any. */
async function costOf(
  endpoint: Endpoint,
  shapes: readonly Shape[],
  size: number,
  times = 1,
): Promise<Cost | undefined> {
  const requests = shapes.flatMap((shape) => requestOf(endpoint, shape, size) ?? []);
  if (requests.length === 0) return undefined;
  const statuses: number[] = [];
  const before = await read();
  for (let time = 0; time < times; time += 1)
    statuses.push(...(await Promise.all(requests.map((request) => send(portOf(endpoint), request)))));
  const bytes = times * requests.reduce((sum, { length }) => sum + length, 0);
  return { ms: (await read()).cpuMs - before.cpuMs, bytes, statuses };
}

/** Returns true for requests of which certainly each takes less than allowed. */
const isCheap = ({ ms, bytes, statuses }: Cost): boolean =>
  !statuses.some(isFailure) && ms < statuses.length * CHEAP_MS + (CHEAP_MS_PER_MIB * bytes) / MIB;

/** No answer, a limit that keeps requests from their reader, or an error that nobody expects. */
const isFailure = (status: number): boolean => [0, 429, 500].includes(status);

/** Returns what is wrong with the costs of small requests and of a large request. */
function faultOf(small: Cost, large: Cost | undefined): string | undefined {
  for (const { ms, bytes, statuses } of [small, ...(large ? [large] : [])]) {
    if (statuses.some(isFailure)) return `is answered with ${statuses.join()}`;
    if (ms > statuses.length * FLOOR_MS + (MS_PER_MIB * bytes) / MIB)
      return `takes ${ms.toFixed(0)} ms for ${String(bytes)} bytes`;
  }
  if (!large || large.ms < NOISE_MS) return undefined;
  const growth = large.ms / large.bytes / (Math.max(small.ms, 1) / small.bytes);
  return growth > MOST_GROWTH
    ? `takes ${growth.toFixed(1)} times as long for each byte of a larger request: ${large.ms.toFixed(0)} ms`
    : undefined;
}

async function faultOfShape(endpoint: Endpoint, shape: Shape): Promise<string | undefined> {
  let fault: string | undefined;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const small = await costOf(endpoint, [shape], SMALL, SMALL_REQUESTS);
    fault = small && faultOf(small, await costOf(endpoint, [shape], LARGE));
    if (fault === undefined) return undefined;
  }
  return `${endpoint.name}: ${shape.name}: ${fault ?? ''}`;
}

/** Sends an endpoint every shape, all of one part at once, and those of a part that is not cheap one by one. */
async function faultsOf(endpoint: Endpoint): Promise<string[]> {
  const faults: (string | undefined)[] = [];
  for (const part of PARTS) {
    const shapes = SHAPES.filter((shape) => shape.part === part);
    const costs = [await costOf(endpoint, shapes, SMALL), await costOf(endpoint, shapes, LARGE)];
    if (costs.every((cost) => !cost || isCheap(cost))) continue;
    for (const shape of shapes) faults.push(await faultOfShape(endpoint, shape));
  }
  return faults.filter((fault) => fault !== undefined);
}

const groups: readonly [name: string, endpoints: () => Endpoint[]][] = [
  ['the authorization server', () => authServerEndpoints(gateway.issuer)],
  ['the management API', managementEndpoints],
  ['MCP', () => mcpEndpoints(user, 'files_whoami')],
  ['the listeners themselves', () => ownEndpoints(user.slice(0, 1))],
];

describe('rows 85, 86: processor time grows no faster than the bytes of requests', () => {
  it.each(groups)('for each endpoint of %s, in each shape', async (_name, endpoints) => {
    const faults: string[] = [];
    for (const endpoint of endpoints()) faults.push(...(await faultsOf(endpoint)));
    expect(faults.join('\n')).toBe('');
  });
});

/** Requests at once, and the bytes of each, one in a chunk of its own. */
const HELD = 8;
const PIECES = 8 * KIB;
/** Memory that an open request may take, beside its bytes. */
const MIB_PER_REQUEST = 0.1;

/** Waits until the gateway has nothing to do. */
async function settled(): Promise<void> {
  for (let last = -Infinity, now = 0; now - last > 1;) {
    await sleep(5);
    last = now;
    now = (await read()).cpuMs;
  }
}

async function heldMiB(endpoint: Endpoint, type: string): Promise<number> {
  const request = piecesOf(endpoint, type, PIECES);
  const sockets = await Promise.all(Array.from({ length: HELD }, () => hold(portOf(endpoint), request)));
  await settled();
  const { heldMiB: held } = await read('live');
  for (const socket of sockets) socket.destroy();
  return held;
}

describe('row 87: memory grows no faster than the bytes of requests', () => {
  it.each(groups)('in pieces of one byte, for each endpoint of %s', async (_name, endpoints) => {
    const faults: string[] = [];
    await settled();
    const { heldMiB: before } = await read('live');
    for (const endpoint of endpoints().filter(({ withJson }) => withJson)) {
      for (const type of endpoint.readsForm === true ? [FORM, JSON_TYPE] : [JSON_TYPE]) {
        const held = (await heldMiB(endpoint, type)) - before;
        if (held > HELD * MIB_PER_REQUEST + (4 * HELD * PIECES) / MIB)
          faults.push(`${endpoint.name}, ${type}: ${held.toFixed(1)} MiB for ${String(HELD * PIECES)} bytes`);
      }
    }
    expect(faults).toEqual([]);
  });
});

/** Processor time of a call of 8 MiB without a policy, on a slow machine. */
const MOST_CALL_MS = 600;

it('row 84: a call of 8 MiB with 900,000 names takes no more time under a policy that reads one of them', async () => {
  const arguments_ = Object.fromEntries(Array.from({ length: 900_000 }, (_, index) => [index.toString(36), 1]));
  const before = await read();
  const reply = await session.call('files_whoami', arguments_);
  expect(reply.body).toContain('denied');
  expect((await read()).cpuMs - before.cpuMs).toBeLessThan(MOST_CALL_MS);
});
