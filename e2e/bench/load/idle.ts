/**
 * Load of W6: opens `--count` sessions, each with its GET stream, holds them for `--hold` seconds, prints
 * `{"open":N,"closed":N}` as a JSON line and holds them until its stdin ends. Raw sockets: ten thousand connections
 * of a client library would use more of a small machine than the gateway.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { inParallel } from './concurrency.ts';
import { openSession, PROTOCOL_VERSION } from '../mcp.ts';

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: '' },
    count: { type: 'string', default: '10000' },
    hold: { type: 'string', default: '5' },
  },
});
const { hostname, port, host, pathname } = new URL(values.url);
let open = 0;

function getRequest(session: string): string {
  const headers = [
    `GET ${pathname} HTTP/1.1`,
    `Host: ${host}`,
    'Accept: text/event-stream',
    `Mcp-Session-Id: ${session}`,
    `MCP-Protocol-Version: ${PROTOCOL_VERSION}`,
  ];
  return `${headers.join('\r\n')}\r\n\r\n`;
}

/** Resolves when the stream has begun; rejects with the status line of any other answer. */
function openStream(session: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(Number(port), hostname, () => socket.write(getRequest(session)));
    socket.setEncoding('latin1');
    socket.once('error', reject);
    socket.once('data', (head: string) => {
      if (!head.startsWith('HTTP/1.1 200 ')) {
        reject(new Error(`GET answered ${head.slice(0, head.indexOf('\r\n'))}`));
        return;
      }
      open += 1;
      socket.once('close', () => (open -= 1)).resume();
      resolve();
    });
  });
}

process.stdin.resume().once('end', () => process.exit(0));
const count = Number(values.count);
await inParallel(Array.from({ length: count }), 32, async () => {
  const session = await openSession(values.url);
  if (session === undefined) throw new Error('initialize gave no session id');
  await openStream(session);
});
await sleep(Number(values.hold) * 1_000);
process.stdout.write(`${JSON.stringify({ open, closed: count - open })}\n`);
