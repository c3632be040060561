import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex, Readable, Writable } from 'node:stream';

/** A substitute for API server and kubelet: uses `channel.k8s.io` over WebSocket for a real process. */
export interface AttachServer {
  readonly url: string;
  /** Header Authorization and path of each request. */
  readonly seen: { readonly authorization: string | undefined; readonly url: string | undefined }[];
  /** Number of processes so far. */
  readonly children: readonly Child[];
  close(): Promise<void>;
}

export interface AttachServerOptions {
  readonly script: string;
  readonly args?: readonly string[];
  readonly protocol?: string;
  /** Response instead of the upgrade, while set. */
  readonly refuse?: () => { readonly status: number; readonly body: string } | undefined;
  /** When true, accepts the connection and then neither reads nor writes. */
  readonly deaf?: () => boolean;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const BINARY = 0x2;
const CLOSE = 0x8;
const PING = 0x9;
const PONG = 0xa;

export async function startAttachServer(options: AttachServerOptions): Promise<AttachServer> {
  const seen: AttachServer['seen'] = [];
  const children: Child[] = [];
  const sockets = new Set<Duplex>();
  const server = createServer();
  server.on('upgrade', (req: IncomingMessage, socket: Duplex) => {
    sockets.add(socket.on('error', () => undefined));
    seen.push({ authorization: req.headers.authorization, url: req.url });
    const refusal = options.refuse?.();
    if (refusal) {
      const length = Buffer.byteLength(refusal.body);
      socket.end(`HTTP/1.1 ${refusal.status} Refused\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n${refusal.body}`);
      return;
    }
    const accept = createHash('sha1').update(`${req.headers['sec-websocket-key'] ?? ''}${GUID}`).digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\n` +
        `sec-websocket-protocol: ${options.protocol ?? 'v5.channel.k8s.io'}\r\n\r\n`,
    );
    if (options.deaf?.() === true) socket.pause();
    else children.push(runBehind(socket, options));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    seen,
    children,
    close: () => {
      for (const child of children) child.kill('SIGKILL');
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => void server.close(() => resolve()));
    },
  };
}

function runBehind(socket: Duplex, { script, args = [] }: AttachServerOptions): Child {
  const child = spawn(process.execPath, [script, ...args], { stdio: 'pipe' });
  child.stdin.on('error', () => undefined);
  const say = (channel: number, content: Buffer): void => void socket.write(frame(BINARY, Buffer.concat([Buffer.of(channel), content])));
  child.stdout.on('data', (chunk: Buffer) => say(1, chunk));
  child.stderr.on('data', (chunk: Buffer) => say(2, chunk));
  child.on('close', () => {
    say(3, Buffer.from('{"metadata":{},"status":"Success"}'));
    socket.end(frame(CLOSE, Buffer.of(0x03, 0xe8)));
  });
  socket.on('close', () => child.stdin.end()); // stdinOnce
  readFrames(socket, (opcode, content) => {
    if (opcode === PING) socket.write(frame(PONG, content));
    else if (opcode === CLOSE) socket.end(frame(CLOSE, content));
    else if (content[0] === 0) child.stdin.write(content.subarray(1));
    else if (content[0] === 255 && content[1] === 0) child.stdin.end();
  });
  return child;
}

function frame(opcode: number, content: Buffer): Buffer {
  const head = Buffer.alloc(10);
  head[0] = 0x80 | opcode;
  if (content.length < 126) {
    head[1] = content.length;
    return Buffer.concat([head.subarray(0, 2), content]);
  }
  head[1] = 127;
  head.writeBigUInt64BE(BigInt(content.length), 2);
  return Buffer.concat([head, content]);
}

/** Unmasks a frame: frames of clients are masked. */
function readFrames(socket: Duplex, onFrame: (opcode: number, content: Buffer) => void): void {
  let rest = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const short = (rest[1] ?? 0) & 0x7f;
      const extra = short === 126 ? 2 : short === 127 ? 8 : 0;
      const start = 2 + extra + 4;
      if (rest.length < start) return;
      const length = extra === 0 ? short : extra === 2 ? rest.readUInt16BE(2) : Number(rest.readBigUInt64BE(2));
      if (rest.length < start + length) return;
      const mask = rest.subarray(start - 4, start);
      const content = Buffer.from(rest.subarray(start, start + length));
      for (let at = 0; at < length; at += 1) content[at] = (content[at] ?? 0) ^ (mask[at % 4] ?? 0);
      onFrame((rest[0] ?? 0) & 0x0f, content);
      rest = rest.subarray(start + length);
    }
  });
}
