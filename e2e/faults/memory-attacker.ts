/**
 * Attacks the memory of a gateway: a backend with tools that do not answer (`hang`) or answer 32 MiB (`long`,
 * `long_event`), and clients that call them or subscribe to its resources. Prints the backend's port, begins with the line `<attack> <clients> <seconds> <url>`
 * on stdin, and prints its counts at the end, which is after the first refusal.
 */
import { once } from 'node:events';
import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSession, rpc, type RawSession } from '../harness/clients/raw.ts';

const ARGUMENT_BYTES = 8 * 1024 * 1024 - 1_024;
const REPLY = Buffer.alloc(31 * 1024 * 1024, 'x');
/** Time between the last byte of a request and the end of its connection. */
const HANG_UP_AFTER_MS = 200;
/** Length of the longest answer to a refused call. */
const MOST_REFUSAL_BYTES = 1_024;
/** Time until a client that does not read a reply calls again on another connection. */
const UNREAD_MS = 10_000;
const TOOLS = ['hang', 'long', 'long_event'];
const LONG_URI = `x://${'a'.repeat(2_000)}`;
/** Pause of a client between two subscriptions when the memory is full: the attack is on memory, not CPU. */
const PAUSE_MS = 100;

const counts: Record<string, number> = {};
const count = (what: string): void => {
  counts[what] = (counts[what] ?? 0) + 1;
};

const CAPABILITIES = { tools: {}, resources: { subscribe: true } };

const isRefused = (): boolean => counts['503'] !== undefined || counts['refused'] !== undefined;

/** Chooses the answer by the first bytes of a request, to save CPU. */
function answer(res: ServerResponse, head: string): void {
  const id = /"id":(\d+)/.exec(head)?.[1];
  const json = (result: unknown): void => {
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(`{"jsonrpc":"2.0","id":${String(id)},"result":${JSON.stringify(result)}}`);
  };
  if (id === undefined) res.writeHead(202).end();
  else if (head.includes('"initialize"'))
    json({ protocolVersion: '2025-11-25', capabilities: CAPABILITIES, serverInfo: { name: 'bad', version: '1' } });
  else if (head.includes('"tools/list"'))
    json({ tools: TOOLS.map((name) => ({ name, inputSchema: { type: 'object' } })) });
  else if (head.includes('"resources/templates/list"'))
    json({ resourceTemplates: [{ uriTemplate: 'x://{+path}', name: 'any' }] });
  else if (head.includes('"resources/list"')) json({ resources: [] });
  else if (head.includes('"tools/call"')) callTool(res, head, id);
  else json({});
}

function callTool(res: ServerResponse, head: string, id: string): void {
  if (head.includes('"hang"')) return;
  const isEvent = head.includes('"long_event"');
  res.writeHead(200, { 'content-type': isEvent ? 'text/event-stream' : 'application/json' });
  res.write(`${isEvent ? 'data: ' : ''}{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"`);
  res.write(REPLY);
  res.end(`"}]}}${isEvent ? '\n\n' : ''}`);
}

async function serve(): Promise<number> {
  const server = createServer((req, res) => {
    let head = '';
    req.on('data', (chunk: Buffer) => {
      if (head.length < 400) head += chunk.toString('latin1', 0, 400);
    });
    req.on('end', () => {
      if (req.method === 'POST') answer(res, head);
      else res.writeHead(405).end();
    });
    req.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Sends one request on a new connection; resolves when the connection is closed. */
async function send(session: RawSession, url: string, body: string | Buffer, unread: boolean): Promise<void> {
  const length = String(Buffer.byteLength(body));
  const headers = { ...session.headers, 'content-length': length };
  const sent = request(url, { method: 'POST', headers, agent: false });
  const closed = new Promise<void>((resolve) => {
    sent.once('close', resolve);
  });
  sent.on('error', () => {
    count('cut');
  });
  sent.once('response', (response) => {
    const isLong = Number(response.headers['content-length'] ?? Infinity) > MOST_REFUSAL_BYTES;
    count(response.statusCode === 200 && !isLong ? 'refused' : String(response.statusCode));
    response.on('error', () => undefined);
    if (unread && isLong) response.pause();
    else response.resume();
  });
  sent.end(body, () => {
    if (!unread) setTimeout(() => sent.destroy(), HANG_UP_AFTER_MS);
  });
  if (unread) await Promise.race([closed, sleep(UNREAD_MS)]);
  else await closed;
  sent.destroy();
}

/** Subscribes once; returns a new session when this one has no room left. */
async function subscribe(session: RawSession, url: string, round: number): Promise<RawSession> {
  const { error } = await session.request('resources/subscribe', { uri: `${LONG_URI}${String(round)}` });
  count(error ? 'refused' : 'taken');
  if (counts['refused'] !== undefined) await sleep(PAUSE_MS);
  return error?.code === -32602 ? openSession(url) : session;
}

/** One request of a client each. Returns the session of the next one. */
const ATTACKS: Readonly<Record<string, (session: RawSession, url: string, round: number) => Promise<RawSession>>> = {
  uploads: async (session, url) => {
    await send(session, url, UPLOAD, false);
    return session;
  },
  unread: async (session, url, round) => {
    const name = round % 2 === 0 ? 'bad_long' : 'bad_long_event';
    await send(session, url, rpc('tools/call', { name, arguments: {} }, round + 1), true);
    return session;
  },
  subscriptions: subscribe,
};
const UPLOAD = Buffer.from(rpc('tools/call', { name: 'bad_hang', arguments: { text: 'x'.repeat(ARGUMENT_BYTES) } }));

process.stdout.write(`${String(await serve())}\n`);
for await (const line of createInterface({ input: process.stdin })) {
  const [attack = '', clients = '', seconds = '', url = ''] = line.split(' ');
  const step = ATTACKS[attack];
  if (!step) throw new Error(`unknown attack "${attack}"`);
  const deadline = performance.now() + Number(seconds) * 1_000;
  const client = async (_: unknown, start: number): Promise<void> => {
    let session = await openSession(url);
    for (let round = start; performance.now() < deadline || !isRefused(); round += 1)
      session = await step(session, url, round);
  };
  await Promise.all(Array.from({ length: Number(clients) }, client));
  process.stdout.write(`${JSON.stringify(counts)}\n`, () => process.exit(0));
}
