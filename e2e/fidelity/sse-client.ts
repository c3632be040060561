import { get, request, type IncomingMessage } from 'node:http';
import { initializeRequest, MCP_HEADERS, rpc } from '../harness/clients/raw.ts';
import type { Scope } from '../harness/scope.ts';
import { CLIENT_ID, eventsOf, type Ask, type RawMessage } from './raw-client.ts';
import { memberText } from './raw-json.ts';

const TIMEOUT_MS = 30_000;

/** Opens a session of HTTP+SSE (2024-11-05) without a client library: requests are POSTs, every reply is an event of one stream. */
export async function openSseSession(scope: Scope, origin: string): Promise<Ask> {
  const stream = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${origin}/sse`, { headers: { accept: 'text/event-stream' } }, resolve).once('error', reject);
  });
  scope.defer(() => stream.destroy());
  const events = eventReader(stream);
  const endpoint = new URL(await events.next(() => true), origin);
  const ask = async (body: string, id: string): Promise<RawMessage> => {
    const reply = events.next((data) => memberText(data, 'id') === id);
    const status = await post(endpoint, body);
    if (status >= 300) throw new Error(`the message was answered with HTTP ${String(status)}`);
    return { status: 200, bytes: await reply, inStream: true };
  };
  await ask(initializeRequest('2024-11-05'), '0');
  await post(endpoint, '{"jsonrpc":"2.0","method":"notifications/initialized"}');
  return (method, params) => ask(rpc(method, params, CLIENT_ID), JSON.stringify(CLIENT_ID));
}

function post(url: URL, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers: MCP_HEADERS }, (response) => {
      response.resume().once('end', () => {
        resolve(response.statusCode ?? 0);
      });
    });
    sent.once('error', reject).end(body);
  });
}

/** Reads the data of the stream, one character per byte; only one reader may wait at a time. */
function eventReader(stream: IncomingMessage) {
  let unread = '';
  let waiting: ((data: string) => void) | undefined;
  stream.setEncoding('latin1').on('data', (piece: string) => {
    unread += piece;
    if (!piece.includes('\n')) return;
    const end = unread.lastIndexOf('\n\n');
    if (end === -1) return;
    const events = eventsOf(unread.slice(0, end + 2));
    unread = unread.slice(end + 2);
    for (const data of events) waiting?.(data);
  });
  return {
    /** Returns the data of the next event that `wanted` accepts. */
    next: (wanted: (data: string) => boolean) =>
      new Promise<string>((resolve, reject) => {
        const timer = setTimeout(() => {
          reject(new Error(`no such event within ${String(TIMEOUT_MS)} ms`));
        }, TIMEOUT_MS);
        waiting = (data) => {
          if (!wanted(data)) return;
          clearTimeout(timer);
          resolve(data);
        };
      }),
  };
}
