import { connect } from 'node:net';
import type { RawResponse } from './raw.ts';

/** Header lines of a request that no HTTP client would send: repeated names, folded lines, bytes out of range. */
export type HeaderLines = readonly string[];

export interface BytesRequest {
  readonly method?: string;
  readonly path?: string;
  /** Added to Host and `Connection: close`. A body gets a Content-Length unless a line frames it. */
  readonly lines?: HeaderLines;
  readonly body?: string;
  readonly host?: string;
}

const FRAMING = /^(content-length|transfer-encoding)\s*:/i;

/** Sends a request byte for byte (latin1) to a loopback port and reads until the connection is closed. */
export function sendBytes(
  port: number,
  { method = 'POST', path = '/mcp', lines = [], body = '', host = `127.0.0.1:${String(port)}` }: BytesRequest,
): Promise<RawResponse> {
  const length = lines.some((line) => FRAMING.test(line)) ? [] : [`Content-Length: ${String(Buffer.byteLength(body))}`];
  const head = [`${method} ${path} HTTP/1.1`, `Host: ${host}`, 'Connection: close', ...length, ...lines];
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.setTimeout(20_000, () => socket.destroy(new Error('no answer within 20 s')));
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.once('error', (error) => {
      if (chunks.length > 0) resolve(parse(chunks));
      else reject(error);
    });
    socket.once('end', () => {
      resolve(parse(chunks));
    });
    socket.write(Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`, 'latin1'));
  });
}

function parse(chunks: readonly Buffer[]): RawResponse {
  const [head = '', ...rest] = Buffer.concat(chunks).toString('utf8').split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  return { status: Number(statusLine.split(' ')[1]), headers, body: rest.join('\r\n\r\n') };
}
