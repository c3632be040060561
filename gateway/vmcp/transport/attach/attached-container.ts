import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { PassThrough, Writable } from 'node:stream';
import { Agent, ping, WebSocket } from 'undici';
import type { Connection } from '../../../kube/connection.ts';
import { pathOf, RESOURCES } from '../../../kube/resource.ts';
import { readLines } from '../../../workloads/runner/lines.ts';
import { refusalReader } from './attach-refusal.ts';
import { BackendError } from '../channel.ts';
import type { ProcessStreams } from '../stdio/stdio-process.ts';
import type { Logger } from '../../../contract/logger.ts';

/** A container of a pod and the API server that gives access to it. */
export interface AttachPlace {
  readonly connection: Connection;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

export interface AttachOptions {
  /** Backend name, for the log. */
  readonly name: string;
  /** Longest wait for the connection, ms. */
  readonly timeoutMs: number;
  /** Interval of pings, ms. Without any message in three intervals the connection is closed. */
  readonly pingEveryMs: number;
  readonly log: Logger;
}

/** @see k8s.io/apimachinery/pkg/util/remotecommand; v5 is v4 with a message that closes stdin alone. */
const V5 = 'v5.channel.k8s.io';
const PROTOCOLS = [V5, 'v4.channel.k8s.io'];
const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;
const STATUS = 3;
const CLOSE = 255;

/** The API server accepts messages of up to 32 MiB. A stream may be cut anywhere. */
const PIECE_BYTES = 256 * 1024;
/** Unsent bytes above which writing pauses. */
const UNSENT_BYTES = 1024 * 1024;
const RECHECK_MS = 5;
/** Unanswered pings in a row after which the connection counts as lost. */
const MAX_UNANSWERED = 3;
const STOP_GRACE_MS = 5_000;
/** Time from closing until the connection counts as closed. */
const CLOSE_TIMEOUT_MS = 1_000;

const PONGS = 'undici:websocket:pong';

/**
 * Attaches to stdin, stdout and stderr of a container. Earlier output is lost; the server has not received any input
 * before. Rejects with `BackendError`.
 */
export async function attach(
  place: AttachPlace,
  options: AttachOptions,
  closing: AbortSignal,
): Promise<ProcessStreams> {
  const { connection, namespace, pod, container } = place;
  const path = pathOf(RESOURCES.Pod, { namespace, name: pod, subresource: 'attach' });
  const query = new URLSearchParams({ container, stdin: 'true', stdout: 'true', stderr: 'true', tty: 'false' });
  const refusal = refusalReader();
  try {
    const authorization = await connection.authorization();
    const agent = agentOf(connection, options.timeoutMs);
    const socket = new WebSocket(`${connection.baseUrl.replace(/^http/u, 'ws')}${path}?${query.toString()}`, {
      protocols: PROTOCOLS,
      dispatcher: agent.compose(refusal.interceptor),
      headers: { 'user-agent': 'vmcp-gateway', ...(authorization !== undefined && { authorization }) },
    });
    socket.binaryType = 'arraybuffer';
    const attached = new AttachedContainer(socket, agent, options);
    await attached.opened(options.timeoutMs, closing);
    return attached;
  } catch (error) {
    const why = refusal.text() ?? (error instanceof Error ? error.message : String(error));
    throw new BackendError({ kind: 'unavailable', detail: `attach to ${pod}/${container}: ${why}` });
  }
}

function agentOf(connection: Connection, timeoutMs: number): Agent {
  const { ca, cert, key, serverName, insecureSkipVerify } = connection.tls();
  return new Agent({
    allowH2: false,
    connect: {
      timeout: timeoutMs,
      rejectUnauthorized: insecureSkipVerify !== true,
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
      ...(serverName !== undefined && { servername: serverName }),
    },
  });
}

/** A container as a process that lives as long as the connection to it. */
class AttachedContainer implements ProcessStreams {
  readonly stdin: Writable;
  readonly stdout = new PassThrough();
  readonly exited: ProcessStreams['exited'];
  readonly #socket: WebSocket;
  readonly #stderr = new PassThrough();
  readonly #open = Promise.withResolvers<undefined>();
  readonly #end = Promise.withResolvers<{ code: null; signal: null; how: string }>();
  /** Status that the API server sent at the end. */
  #status: string | undefined;
  #isOpen = false;
  #unanswered = 0;

  constructor(socket: WebSocket, agent: Agent, { name, log, pingEveryMs }: AttachOptions) {
    this.#socket = socket;
    this.exited = this.#end.promise;
    this.stdin = stdinOf(socket);
    this.#open.promise.catch(() => undefined);
    readLines(this.#stderr, {
      line: (line) => log.debug('workload output', { workload: name, line }),
      dropped: (lines) => log.debug('workload output dropped', { workload: name, lines }),
    });
    socket.addEventListener('open', () => {
      this.#isOpen = true;
      this.#open.resolve(undefined);
    });
    socket.addEventListener('message', ({ data }: { data: unknown }) => {
      if (data instanceof ArrayBuffer) this.#receive(Buffer.from(data));
    });
    socket.addEventListener('error', ({ message }) => {
      this.#open.reject(new Error(message === '' ? 'there is no connection' : message));
    });
    const unwatch = this.#watchPeer(pingEveryMs);
    socket.addEventListener('close', ({ code, reason }) => {
      this.#ended(code, reason);
    });
    void this.exited.then(() => {
      unwatch();
      void agent.destroy();
    });
  }

  /** Rejects when the connection is not open within `timeoutMs`, or when `closing` is aborted. */
  async opened(timeoutMs: number, closing: AbortSignal): Promise<void> {
    const limit = AbortSignal.any([closing, AbortSignal.timeout(timeoutMs)]);
    const abandon = (): void => {
      this.#open.reject(new Error(closing.aborted ? 'no longer needed' : `no answer within ${String(timeoutMs)} ms`));
      this.#socket.close();
    };
    if (limit.aborted) abandon();
    limit.addEventListener('abort', abandon, { once: true });
    try {
      await this.#open.promise;
    } catch (error) {
      this.#finish('before it was reached');
      throw error;
    } finally {
      limit.removeEventListener('abort', abandon);
    }
  }

  /** Closes stdin, which ends a server, and after `graceMs` the connection. */
  async stop(graceMs = STOP_GRACE_MS): Promise<void> {
    this.stdin.end();
    const timer = setTimeout(() => {
      this.#close();
    }, graceMs);
    await this.exited;
    clearTimeout(timer);
  }

  #receive(frame: Buffer): void {
    this.#unanswered = 0;
    const content = frame.subarray(1);
    switch (frame[0]) {
      case STDOUT:
        this.stdout.write(content);
        return;
      case STDERR:
        this.#stderr.write(content);
        return;
      case STATUS:
        this.#status = describeStatus(content);
        return;
      case CLOSE:
        if (content[0] === STDOUT) this.stdout.end();
        return;
      default:
    }
  }

  /** Closes the connection without waiting for a lost peer. */
  #close(): void {
    this.#socket.close();
    setTimeout(() => {
      this.#finish('or is out of reach: the connection to it was lost');
    }, CLOSE_TIMEOUT_MS).unref();
  }

  #ended(code: number, reason: string): void {
    const how = this.#status ?? `with the connection to it (${String(code)}${reason === '' ? '' : `: ${reason}`})`;
    this.#open.reject(new Error(how));
    this.#finish(how);
  }

  #finish(how: string): void {
    this.stdin.destroy();
    this.stdout.end();
    this.#stderr.end();
    this.#end.resolve({ code: null, signal: null, how });
  }

  #watchPeer(pingEveryMs: number): () => void {
    const onPong = (pong: unknown): void => {
      if ((pong as { readonly websocket: unknown }).websocket === this.#socket) this.#unanswered = 0;
    };
    subscribe(PONGS, onPong);
    const heartbeat = setInterval(() => {
      if (!this.#isOpen) return;
      this.#unanswered += 1;
      if (this.#unanswered > MAX_UNANSWERED) this.#close();
      else ping(this.#socket);
    }, pingEveryMs).unref();
    return () => {
      clearInterval(heartbeat);
      unsubscribe(PONGS, onPong);
    };
  }
}

/**
 * Returns the stdin of the container. It sends in pieces, no faster than the connection accepts. Errors are reported by
 * `exited`.
 */
function stdinOf(socket: WebSocket): Writable {
  const whenSent = (done: () => void): void => {
    if (socket.readyState !== WebSocket.OPEN || socket.bufferedAmount <= UNSENT_BYTES) done();
    else setTimeout(whenSent, RECHECK_MS, done).unref();
  };
  const stdin = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      if (socket.readyState !== WebSocket.OPEN) {
        done(new Error('the connection is closed'));
        return;
      }
      for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
        socket.send(Buffer.concat([Buffer.of(STDIN), chunk.subarray(at, at + PIECE_BYTES)]));
      }
      whenSent(done);
    },
    final: (done) => {
      if (socket.protocol !== V5) socket.close();
      else if (socket.readyState === WebSocket.OPEN) socket.send(Buffer.of(CLOSE, STDIN));
      done();
    },
  });
  return stdin.on('error', () => undefined);
}

/** Parses the Status that the API server sends at the end; undefined for anything else. */
function describeStatus(content: Buffer): string | undefined {
  try {
    const { status, message } = JSON.parse(content.toString()) as { status?: unknown; message?: unknown };
    return status === 'Success' ? 'by itself' : `(${String(message)})`;
  } catch {
    return undefined;
  }
}
