import { connect, type Socket } from 'node:net';

export interface RawReply {
  readonly status: number;
  /** Status line and header lines. */
  readonly head: string;
  readonly body: string;
}

/**
 * One persistent connection with one request at a time, without a client library, which would cost more than the
 * measured server. Replies must have a `Content-Length`; all replies of the gateway except streams have one.
 */
export class RawConnection {
  readonly #socket: Socket;
  readonly #host: string;
  #received = '';
  #settle: { resolve: (reply: RawReply) => void; reject: (error: Error) => void } | undefined;

  constructor(port: number) {
    this.#host = `127.0.0.1:${String(port)}`;
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.setEncoding('latin1');
    this.#socket.on('data', (text: string) => {
      this.#received += text;
      this.#read();
    });
    const fail = (error?: Error): void => {
      this.#settle?.reject(error ?? new Error('the gateway closed the connection'));
      this.#settle = undefined;
    };
    this.#socket.on('error', fail);
    this.#socket.on('close', () => {
      fail();
    });
  }

  /** Sends a request; `headers` are whole lines with their line ends. */
  send(method: 'GET' | 'POST', path: string, headers = '', body?: string): Promise<RawReply> {
    const length = body === undefined ? '' : `Content-Length: ${String(body.length)}\r\n`;
    this.#socket.write(`${method} ${path} HTTP/1.1\r\nHost: ${this.#host}\r\n${headers}${length}\r\n${body ?? ''}`);
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(): void {
    const end = this.#received.indexOf('\r\n\r\n');
    if (end === -1) return;
    const head = this.#received.slice(0, end);
    const length = /^content-length: (\d+)/imu.exec(head)?.[1];
    const settle = this.#settle;
    if (!settle) return;
    if (length === undefined) {
      settle.reject(new Error(`a reply without Content-Length: ${head}`));
      return;
    }
    const after = end + 4 + Number(length);
    if (this.#received.length < after) return;
    const body = this.#received.slice(end + 4, after);
    this.#received = this.#received.slice(after);
    this.#settle = undefined;
    settle.resolve({ status: Number(head.slice(9, 12)), head, body });
  }
}

/** Returns the value of the first header with this lower-case name. */
export function headerOf({ head }: RawReply, name: string): string | undefined {
  const from = head.toLowerCase().indexOf(`\r\n${name}: `);
  if (from === -1) return undefined;
  const start = from + name.length + 4;
  const end = head.indexOf('\r\n', start);
  return head.slice(start, end === -1 ? undefined : end);
}

/** Returns `name=value` of every cookie that a reply sets; a deleted cookie has an empty value. */
export function cookiesOf({ head }: RawReply): string[] {
  return [...head.matchAll(/^set-cookie: ([^;\r]*)/gimu)].map(([, pair = '']) => pair);
}
