import { gzipSync } from 'node:zlib';
import { echoOf, eventText, jsonHead, type Exchange } from './mcp-server.ts';

/** Marks text that no client may see. */
export const CANARY = 'canary-7f3a9c';

/** A bad answer to a call. */
export interface CallKind {
  readonly name: string;
  readonly act: (exchange: Exchange) => void;
  /** Error text for the client. */
  readonly says: RegExp;
  /** Number of concurrent calls; 3 by default. */
  readonly atOnce?: number;
}

const MEBIBYTE = Buffer.alloc(1024 * 1024, 'x');
const LARGE_MEBIBYTES = 100;
const TIMED_OUT = /^backend "bad" timed out after 1 s$/;
const NOT_MCP = /^backend "bad" sent a message that is not valid MCP$/;
const UNAVAILABLE = /^backend "bad" is unavailable$/;
/** True when the gateway may see the end of the connection before the invalid bytes. */
const NO_HTTP = /^backend "bad" (sent a message that is not valid MCP|is unavailable)$/;
const TOO_LARGE = /^backend "bad" sent a reply that is larger than the gateway forwards$/;
/** A long reply is read slowly beside other calls. */
const TOO_LARGE_OR_LATE = new RegExp(`${TOO_LARGE.source}|${TIMED_OUT.source}`, 'u');
const REFUSED = /^backend "bad" rejected the gateway's credentials$/;
const USUAL = /^tool usual$/;

const replyText = ({ message }: Exchange): string =>
  JSON.stringify({ jsonrpc: '2.0', id: message.id, result: echoOf(message) });

const replyHead = ({ message }: Exchange): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":{"content":[{"type":"text","text":"`;

/** Sends a valid reply byte by byte until the gateway closes the connection. */
function dribble(exchange: Exchange): void {
  const { res } = exchange;
  const text = replyText(exchange) + ' '.repeat(10_000);
  let at = 0;
  jsonHead(res);
  const timer = setInterval(() => res.write(text.charAt(at++)), 20);
  res.once('close', () => {
    clearInterval(timer);
  });
}

function chatter({ res }: Exchange): void {
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  const line = eventText({ method: 'notifications/message', params: { level: 'info', data: 'x'.repeat(1_000) } });
  const timer = setInterval(() => res.write(`: still here\n\n${line}`), 2);
  res.once('close', () => {
    clearInterval(timer);
  });
}

/** Sends 100 MiB as fast as the gateway reads them. */
function flood(exchange: Exchange, headers: Readonly<Record<string, string>>): void {
  const { res } = exchange;
  let left = LARGE_MEBIBYTES;
  res.writeHead(200, { 'content-type': 'application/json', ...headers }).write(replyHead(exchange));
  const more = (): void => {
    while (left > 0 && !res.destroyed) {
      left -= 1;
      if (res.write(MEBIBYTE)) continue;
      res.once('drain', more);
      return;
    }
    res.end('"}]}}');
  };
  more();
}

const status = (code: number, headers: Readonly<Record<string, string>>, body: string) => (exchange: Exchange) =>
  void exchange.res.writeHead(code, headers).end(body);

const GZIP_BOMB = gzipSync(Buffer.alloc(LARGE_MEBIBYTES * MEBIBYTE.length, 0x20), { level: 1 });

function twice(exchange: Exchange): void {
  const { res, message } = exchange;
  const second = { id: message.id, result: { content: [{ type: 'text', text: CANARY }] } };
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  res.end(`data: ${replyText(exchange)}\n\n${eventText(second)}`);
}

function resetHalfway(exchange: Exchange): void {
  jsonHead(exchange.res).write(`${replyHead(exchange)}${CANARY}`, () => exchange.req.socket.resetAndDestroy());
}

function breakOffLong(exchange: Exchange): void {
  const { req, res } = exchange;
  jsonHead(res).write(`${replyHead(exchange)}${CANARY}`);
  res.write(MEBIBYTE, () => req.socket.resetAndDestroy());
}

function endLongBadly(exchange: Exchange): void {
  jsonHead(exchange.res).write(`${replyHead(exchange)}${CANARY}`);
  exchange.res.write(MEBIBYTE);
  exchange.res.end('"}]');
}

const JSON_TYPE = { 'content-type': 'application/json' };
const TEXT = { 'content-type': 'text/plain' };
const secret = `Error: ${CANARY}\n    at /srv/${CANARY}/index.js:1:1`;

function headersOnly({ res }: Exchange): void {
  jsonHead(res).flushHeaders();
}

const SILENT: readonly CallKind[] = [
  { name: 'hangs', act: () => undefined, says: TIMED_OUT },
  { name: 'sends headers and then nothing', act: headersOnly, says: TIMED_OUT },
  { name: 'sends one byte at a time', act: dribble, says: TIMED_OUT },
  { name: 'never ends its event stream', act: chatter, says: TIMED_OUT },
  {
    name: 'never ends a reply that is complete',
    act: (exchange) => void jsonHead(exchange.res).write(replyText(exchange)),
    says: TIMED_OUT,
  },
];

const WRONG: readonly CallKind[] = [
  { name: 'answers text', act: status(200, JSON_TYPE, `Welcome! ${CANARY}`), says: NOT_MCP },
  { name: 'answers HTML', act: status(200, { 'content-type': 'text/html' }, `<p>${CANARY}</p>`), says: NOT_MCP },
  { name: 'answers an array', act: status(200, JSON_TYPE, `["${CANARY}"]`), says: NOT_MCP },
  { name: 'answers a string', act: status(200, JSON_TYPE, `"${CANARY}"`), says: NOT_MCP },
  { name: 'answers no HTTP', act: ({ req }) => void req.socket.end(`${CANARY}\r\n\r\n`), says: NO_HTTP },
  {
    name: 'calls plain bytes gzip',
    act: (exchange) => {
      status(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }, replyText(exchange))(exchange);
    },
    says: USUAL,
  },
  {
    name: 'sends a gzip bomb',
    act: ({ res }) => void res.writeHead(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }).end(GZIP_BOMB),
    says: TOO_LARGE_OR_LATE,
    atOnce: 1,
  },
  {
    name: 'answers with the id of another request',
    act: status(
      200,
      JSON_TYPE,
      `{"jsonrpc":"2.0","id":987654,"result":{"content":[{"type":"text","text":"${CANARY}"}]}}`,
    ),
    says: NOT_MCP,
  },
  { name: 'replies twice', act: twice, says: USUAL },
];

const LARGE: readonly CallKind[] = [
  {
    name: 'announces 100 MiB',
    act: (exchange) => {
      flood(exchange, { 'content-length': String((LARGE_MEBIBYTES + 1) * MEBIBYTE.length) });
    },
    says: TOO_LARGE,
  },
  {
    name: 'sends 100 MiB',
    act: (exchange) => {
      flood(exchange, {});
    },
    says: TOO_LARGE_OR_LATE,
    atOnce: 1,
  },
  { name: 'breaks off in a long reply', act: breakOffLong, says: UNAVAILABLE },
  { name: 'ends a long reply badly', act: endLongBadly, says: NOT_MCP },
];

const REFUSING: readonly CallKind[] = [
  { name: 'resets the connection', act: ({ req }) => void req.socket.resetAndDestroy(), says: UNAVAILABLE },
  { name: 'resets in the middle of a reply', act: resetHalfway, says: UNAVAILABLE },
  { name: 'answers 500 with its insides', act: status(500, TEXT, secret), says: UNAVAILABLE },
  {
    name: 'answers 500 with a JSON-RPC error',
    act: (exchange) => {
      const error = { code: -32603, message: CANARY };
      const body = JSON.stringify({ jsonrpc: '2.0', id: exchange.message.id, error });
      status(500, JSON_TYPE, body)(exchange);
    },
    says: UNAVAILABLE,
  },
  { name: 'answers 401', act: status(401, { 'www-authenticate': `Bearer x="${CANARY}"` }, secret), says: REFUSED },
  { name: 'says 404 to every session', act: status(404, TEXT, CANARY), says: UNAVAILABLE },
  { name: 'says 400 to every session', act: status(400, TEXT, CANARY), says: UNAVAILABLE },
];

/** Lists the bad answers. `trap` is a URL that the gateway must not request. */
export const callKinds = (trap: () => string): readonly CallKind[] => [
  ...SILENT,
  ...WRONG,
  ...LARGE,
  ...REFUSING,
  {
    name: 'redirects',
    act: (exchange) => {
      status(307, { location: trap() }, CANARY)(exchange);
    },
    says: NOT_MCP,
  },
];
