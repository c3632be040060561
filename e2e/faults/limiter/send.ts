import { connect, type Socket } from 'node:net';
import type { Endpoint } from './endpoints.ts';
import type { Shape } from './shapes.ts';

/** Headers of a request may have 64 KiB, with those that each request has. */
const MOST_HEAD_BYTES = 60 * 1024;

const ACCEPT = 'accept: application/json, text/event-stream';
export const FORM = 'application/x-www-form-urlencoded';
export const JSON_TYPE = 'application/json';

/** Bytes of a request in chunks of one byte. */
const inPieces = (body: string): string => Array.from(body, (byte) => `1\r\n${byte}\r\n`).join('');

/** Returns the bytes of a request in this shape; undefined where the endpoint has no place for it. */
export function requestOf(endpoint: Endpoint, shape: Shape, bytes: number): Buffer | undefined {
  const { method, path, headers = [], withJson, readsForm } = endpoint;
  const isHead = shape.part === 'query' || shape.part === 'headers';
  if (isHead && (bytes > MOST_HEAD_BYTES || endpoint.sharesHead === true)) return undefined;
  switch (shape.part) {
    case 'query':
      return withoutBody(method, `${path}?${shape.text(bytes)}`, headers);
    case 'headers': {
      const lines = shape.text(bytes);
      return withoutBody(method, path, [lines, ...headers.filter((line) => !isSameName(line, lines))]);
    }
    case 'form':
      return readsForm === true ? withBody(endpoint, shape.text(bytes), FORM) : undefined;
    case 'json':
      return withJson && withBody(endpoint, withJson(shape.text, bytes), JSON_TYPE);
  }
}

/** Returns the bytes of a request whose body of this media type comes in pieces of one byte, without the last piece. */
export function piecesOf({ method, path, headers = [] }: Endpoint, type: string, count: number): Buffer {
  const lines = [...headers, ACCEPT, `content-type: ${type}`, 'transfer-encoding: chunked'];
  return Buffer.from(`${head(method, path, lines)}\r\n${inPieces(' '.repeat(count))}`);
}

const isSameName = (line: string, other: string): boolean => line.split(':', 1)[0] === other.split(':', 1)[0];

const head = (method: string, target: string, lines: readonly string[]): string =>
  [`${method} ${target} HTTP/1.1`, 'host: 127.0.0.1', 'connection: close', ...lines, ''].join('\r\n');

const withoutBody = (...parts: Parameters<typeof head>): Buffer => Buffer.from(`${head(...parts)}\r\n`);

function withBody({ method, path, headers = [] }: Endpoint, body: string, type: string): Buffer {
  const lines = [...headers, ACCEPT, `content-type: ${type}`, `content-length: ${String(Buffer.byteLength(body))}`];
  return Buffer.from(`${head(method, path, lines)}\r\n${body}`);
}

/** Status of a request whose answer is lost, because the listener closes the connection while it is still sent. */
const LOST = -1;

/** Sends a request and returns its status when the connection closes, or at the first event of a stream. */
export function send(port: number, request: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    const end = (): void => {
      socket.destroy();
      resolve(Number(answer.split(' ', 2)[1] ?? 0));
    };
    socket.setTimeout(20_000, () => socket.destroy(new Error('no answer within 20 s')));
    socket.on('data', (chunk: Buffer) => {
      if (answer.length < 4_096) answer += chunk.toString('latin1');
      if (answer.includes('text/event-stream')) end();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE' || error.code === 'ECONNRESET') answer ||= `HTTP/1.1 ${String(LOST)}`;
      else reject(error);
    });
    socket.on('close', end);
    socket.write(request);
  });
}

/** Sends the beginning of a request and leaves it open. Resolves when all bytes are with the system. */
export function hold(port: number, request: Buffer): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', reject).resume();
    socket.write(request, () => {
      resolve(socket);
    });
  });
}
