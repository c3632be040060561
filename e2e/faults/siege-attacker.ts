/**
 * Attacks processor time, memory and connections of a gateway in all ways at once. Prints the port of a hostile backend, begins with
 * the line `<origin> <token> <seconds> <share of the clients>` on stdin, and prints the number of steps of each attack at the end.
 */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSession, rpc, type RawSession } from '../harness/clients/raw.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
/** Longest form that an endpoint of the authorization server reads, with as many names as fit. */
const FORM = Array.from({ length: 16_000 }, (_, index) => index.toString(36))
  .join('&')
  .slice(0, 60 * KIB);
/** Chunks of one byte: six bytes on the wire. */
const CHUNKS = Buffer.from('1\r\na\r\n'.repeat(10_000));
const NAMES = `{${Array.from({ length: 900_000 }, (_, index) => `"${index.toString(36)}":0`).join(',')}}`.slice(
  0,
  8 * MIB,
);
/** Lines of an event that each add one character to its data. */
const LINES = Buffer.from('data:\n'.repeat(10_000));
const SILENT_OF_CLIENT = 1_250;

interface Target {
  readonly port: number;
  readonly token: string;
  readonly session: RawSession;
}

/** Connects from an address of its own. */
function open({ port }: Target, address: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: address });
    socket.on('error', () => {
      resolve(undefined);
    });
    socket.once('close', () => {
      resolve(undefined);
    });
    socket.once('connect', () => {
      resolve(socket);
    });
    socket.resume();
  });
}

const gone = (socket: Socket): boolean => socket.destroyed || socket.readableEnded;

const head = (path: string, port: number, headers: Readonly<Record<string, string>>): string =>
  [
    `POST ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${String(port)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '\r\n',
  ].join('\r\n');

/** Resolves when the data is on its way, the connection has ended, or the gateway has read nothing for two seconds. */
async function send(socket: Socket, data: string | Buffer): Promise<void> {
  if (gone(socket)) return;
  const written = new Promise<void>((resolve) => {
    socket.write(data, () => {
      resolve();
    });
  });
  await Promise.race([written, sleep(2_000)]);
}

/** Posts a form and waits for the answer, or for two seconds. */
async function form(target: Target, address: string, round: number): Promise<void> {
  const socket = await open(target, address);
  if (!socket) return;
  const path = round % 2 === 0 ? '/oauth/revoke' : '/oauth/introspect';
  const type = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': String(FORM.length) };
  await send(socket, head(path, target.port, type) + FORM);
  await Promise.race([once(socket, 'data').catch(() => undefined), sleep(2_000)]);
  socket.destroy();
}

/** Sends a body in chunks of one byte and leaves it open for a second: without a credential, or within the session. */
async function pieces(target: Target, address: string, round: number): Promise<void> {
  const socket = await open(target, address);
  if (!socket) return;
  const isOurs = round % 2 === 0;
  const type = isOurs ? { ...target.session.headers } : { 'content-type': 'application/x-www-form-urlencoded' };
  await send(socket, head(isOurs ? '/mcp' : '/oauth/token', target.port, { ...type, 'transfer-encoding': 'chunked' }));
  for (let sent = 0; sent < (isOurs ? 100 : 6) && !gone(socket); sent += 1) await send(socket, CHUNKS);
  await sleep(1_000);
  socket.destroy();
}

/** Calls a tool whose reply is one event of very many short lines. */
async function lines(target: Target): Promise<void> {
  const call = rpc('tools/call', { name: 'bad_lines', arguments: {} });
  await target.session.post(call, { timeoutMs: 10_000 }).catch(() => undefined);
}

/** Opens connections that send nothing; one that the gateway closes is opened again at the next step. */
async function silent(target: Target, address: string, _round: number, held: Socket[]): Promise<void> {
  for (let index = held.length - 1; index >= 0; index -= 1) if (gone(held[index] as Socket)) held.splice(index, 1);
  for (let opened = 0; opened < 40 && held.length < SILENT_OF_CLIENT; opened += 1) {
    const socket = await open(target, address);
    if (socket) held.push(socket);
  }
  await sleep(1_000);
}

/** Sends more of a large body than is read without a turn, then a byte at a time. */
async function trickle(target: Target, address: string): Promise<void> {
  const sockets = await Promise.all(Array.from({ length: 12 }, () => open(target, address)));
  const headers = { ...target.session.headers, 'content-length': String(2 * MIB) };
  for (const socket of sockets)
    if (socket) await send(socket, head('/mcp', target.port, headers) + 'x'.repeat(300 * KIB));
  for (let sent = 0; sent < 40; sent += 1) {
    for (const socket of sockets) if (socket && !gone(socket)) socket.write('x');
    await sleep(50);
  }
  for (const socket of sockets) socket?.destroy();
}

/** Calls a tool with as many arguments as fit, where a policy reads an argument. */
async function names(target: Target): Promise<void> {
  const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"good_tool","arguments":${NAMES}}}`;
  await target.session.post(call, { timeoutMs: 30_000 }).catch(() => undefined);
}

type Attack = (target: Target, address: string, round: number, held: Socket[]) => Promise<void>;

/** Attacks, with the number of their clients: 50 in all. */
const ATTACKS: Readonly<Record<string, readonly [clients: number, attack: Attack]>> = {
  forms: [8, form],
  pieces: [16, pieces],
  lines: [6, lines],
  silent: [10, silent],
  trickle: [6, trickle],
  names: [4, names],
};

function answer(res: ServerResponse, text: string): void {
  const id = /"id":(\d+)/.exec(text)?.[1];
  const json = (result: unknown): void => {
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(`{"jsonrpc":"2.0","id":${String(id)},"result":${JSON.stringify(result)}}`);
  };
  if (id === undefined) res.writeHead(202).end();
  else if (text.includes('"initialize"'))
    json({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'bad', version: '1' } });
  else if (text.includes('"tools/list"')) json({ tools: [{ name: 'lines', inputSchema: { type: 'object' } }] });
  else if (text.includes('"tools/call"')) void answerInLines(res);
  else json({});
}

async function answerInLines(res: ServerResponse): Promise<void> {
  res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data:{\n');
  for (let sent = 0; sent < 300 && !res.destroyed; sent += 1)
    await new Promise<void>((resolve) => {
      res.write(LINES, () => {
        resolve();
      });
    });
  res.end();
}

async function serve(): Promise<number> {
  const server = createServer((req, res) => {
    let text = '';
    req.on('data', (chunk: Buffer) => (text += chunk.toString('latin1', 0, 400)));
    req.on('end', () => {
      if (req.method === 'POST') answer(res, text);
      else res.writeHead(405).end();
    });
    res.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

process.stdout.write(`${String(await serve())}\n`);
const [line] = (await once(createInterface({ input: process.stdin }), 'line')) as [string];
const [origin = '', token = '', seconds = '', share = ''] = line.split(' ');
const session = await openSession(`${origin}/mcp`, undefined, { authorization: `Bearer ${token}` });
const target: Target = { port: Number(new URL(origin).port), token, session };
const deadline = performance.now() + Number(seconds) * 1_000;
const steps: Record<string, number> = {};
const clients = Object.entries(ATTACKS).flatMap(([kind, [count, attack]], at) =>
  Array.from({ length: Math.ceil(count * Number(share)) }, async (_, index) => {
    const held: Socket[] = [];
    for (let round = 0; performance.now() < deadline; round += 1) {
      await attack(target, `127.0.${String(at + 1)}.${String(index + 1)}`, round, held);
      steps[kind] = (steps[kind] ?? 0) + 1;
    }
  }),
);
await Promise.race([Promise.all(clients), sleep(Number(seconds) * 1_000 + 3_000)]);
process.stdout.write(`${JSON.stringify(steps)}\n`, () => process.exit(0));
