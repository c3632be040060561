/**
 * Attacks a gateway with messages in many small pieces. As a program it is the clients or the backend of an attack: it runs in a
 * process of its own, because it needs the CPU that the gateway leaves. Prints the backend's port, then attacks as its line of stdin
 * says: attack, connections, URL and headers as JSON, with tabs between them. Prints a line when everything is sent, and another one when
 * the line `leave` made it close its connections.
 */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const CHUNK = '1\r\nx\r\n';
const TRICKLE_MS = 20;
const LONGEST_MS = 5_000;

/** Sends a request whose body never ends: `first`, then what `more` does. */
async function send(url: URL, headers: Readonly<Record<string, string>>, first: Buffer): Promise<Socket> {
  const socket = connect(Number(url.port), url.hostname);
  socket.on('error', () => undefined).resume();
  await once(socket, 'connect');
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST ${url.pathname} HTTP/1.1\r\nhost: ${url.host}\r\n${lines.join('')}\r\n`);
  socket.write(first);
  return socket;
}

/** Waits until everything is sent, or the gateway takes nothing more. */
async function sent(sockets: readonly Socket[]): Promise<void> {
  const end = performance.now() + LONGEST_MS;
  let [last, since] = [Number.NaN, performance.now()];
  for (;;) {
    const left = sockets.reduce((sum, { writableLength, destroyed }) => sum + (destroyed ? 0 : writableLength), 0);
    if (left !== last) [last, since] = [left, performance.now()];
    if (left === 0 || performance.now() > end || performance.now() - since > 3_000) return;
    await sleep(50);
  }
}

type Attack = (url: URL, headers: Readonly<Record<string, string>>) => Promise<Socket>;

const chunked = (bytes: number): Attack => {
  const body = Buffer.from(CHUNK.repeat(bytes));
  return (url, headers) => send(url, { ...headers, 'transfer-encoding': 'chunked' }, body);
};

const ATTACKS: Readonly<Record<string, () => Attack>> = {
  /** One-byte chunks up to the limit of a form. */
  form: () => chunked(60_000),
  /** One-byte chunks of a large call. */
  call: () => chunked(1_000_000),
  /** Bodies above the size that is read in turns, which then trickle. */
  trickle: () => async (url, headers) => {
    const socket = await send(url, { ...headers, 'content-length': '4000000' }, Buffer.alloc(300 * 1024, ' '));
    const timer = setInterval(() => socket.write(' '), TRICKLE_MS);
    socket.once('close', () => {
      clearInterval(timer);
    });
    return socket;
  },
  /** Bodies that are refused by their length, and go on. */
  refused: () => async (url, headers) => {
    const socket = await send(url, { ...headers, 'content-length': '100000000' }, LONG_PIECE);
    const more = (): void => {
      if (!socket.destroyed) socket.write(LONG_PIECE);
    };
    socket.on('drain', more);
    return socket;
  },
};
const LONG_PIECE = Buffer.alloc(1024 * 1024, ' ');

/** Streams that are fed until the attack ends. */
const SHORT_LINES = Buffer.from('data:\n'.repeat(10_000));
const TOOLS = ['lines', 'chunks'];

/** Replies that never end: an event of many short `data:` lines, or JSON in chunks of one byte. */
function answerForEver(res: ServerResponse, tool: string): void {
  const isEvent = tool === 'lines';
  res.writeHead(200, { 'content-type': isEvent ? 'text/event-stream' : 'application/json' });
  if (isEvent) {
    for (let each = 0; each < 20; each += 1) res.write(SHORT_LINES);
    return;
  }
  res.flushHeaders();
  res.socket?.write(CHUNK.replace('x', ' ').repeat(200_000));
}

async function serveBackend(): Promise<number> {
  const server = createServer((req, res) => {
    const pieces: Buffer[] = [];
    req.on('data', (piece: Buffer) => pieces.push(piece));
    req.on('end', () => {
      const text = Buffer.concat(pieces).toString();
      const id = /"id":(\d+)/.exec(text)?.[1];
      const reply = (result: unknown): void => {
        res.writeHead(200, { 'content-type': 'application/json' });
        res.end(`{"jsonrpc":"2.0","id":${String(id)},"result":${JSON.stringify(result)}}`);
      };
      if (req.method !== 'POST') res.writeHead(405).end();
      else if (id === undefined) res.writeHead(202).end();
      else if (text.includes('"initialize"'))
        reply({
          protocolVersion: '2025-11-25',
          capabilities: { tools: {} },
          serverInfo: { name: 'bad', version: '1' },
        });
      else if (text.includes('"tools/list"'))
        reply({ tools: TOOLS.map((name) => ({ name, inputSchema: { type: 'object' } })) });
      else if (text.includes('"tools/call"')) answerForEver(res, text.includes('lines') ? 'lines' : 'chunks');
      else reply({});
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function main(): Promise<void> {
  process.stdout.write(`${String(await serveBackend())}\n`);
  let sockets: Socket[] = [];
  for await (const line of createInterface({ input: process.stdin })) {
    if (line === 'leave') {
      for (const socket of sockets) socket.destroy();
      sockets = [];
      process.stdout.write('left\n');
      continue;
    }
    const [name = '', connections = '', url = '', headers = ''] = line.split('\t');
    const attack = ATTACKS[name]?.();
    if (!attack) throw new Error(`unknown attack "${name}"`);
    const all = Array.from({ length: Number(connections) }, () =>
      attack(new URL(url), JSON.parse(headers) as Record<string, string>),
    );
    sockets = await Promise.all(all);
    await (name === 'refused' ? sleep(500) : sent(sockets));
    process.stdout.write('sent\n');
  }
}

await main();
