import { processEnd, type Child, type Exit, type LaunchProblem } from '../../../workloads/runner/runner.ts';
import { type After, afterTimeout, within } from '../../../kit/time.ts';
import type {
  BackendFailure,
  BackendRequest,
  Channel,
  ChannelOwner,
  ReplySink,
  RequestHandle,
  ServerFacts,
} from '../channel.ts';
import { BackendError } from '../channel.ts';
import { initialize, INITIALIZED, readServerFacts, type ClientInfo } from '../handshake.ts';
import { garbage } from '../failure.ts';
import { isSessionless } from '../../../contract/protocol/revisions.ts';
import { refusesSessions, verdictOf } from '../modern/discovery.ts';
import { ModernRequests } from '../modern/modern-requests.ts';
import { ownMembers, withMeta, type MetaMembers } from '../modern/request-text.ts';
import { isShared, type Isolation } from '../isolation.ts';
import { JsonRpcPeer, type Lane } from '../json-rpc-peer.ts';
import { createLineSplitter, toLine } from './line-splitter.ts';
import type { PooledProcess, ProcessEnd } from './process-pool.ts';
import { requestReply } from '../request-reply.ts';
import type { Logger } from '../../../contract/logger.ts';

export interface StdioProcessOptions {
  /** Backend name, for the log. */
  readonly name: string;
  /** Client sessions that may use the process. */
  readonly isolation: Isolation;
  readonly clientInfo: ClientInfo;
  /** Longest wait for the handshake, ms. */
  readonly initTimeoutMs: number;
  /** Longest message of the backend, and most bytes that it may leave unread before calls fail. */
  readonly maxMessageBytes: number;
  readonly now: () => number;
  readonly after?: After;
  readonly log: Logger;
}

/** A process with its streams: a child process, or an attached container. */
export interface ProcessStreams extends Pick<Child, 'stdin' | 'stdout' | 'stop'> {
  /** `how` describes the end where there is neither a code nor a signal. */
  readonly exited: Promise<Exit & { readonly how?: string; readonly problem?: LaunchProblem }>;
}

/** Time to wait for output after the process has ended: a grandchild can keep the pipe open for ever. */
const LAST_OUTPUT_MS = 500;

/**
 * Runs the handshake with a new child. Stops `child` when it fails, or when `closing` is aborted before its end.
 * Rejects with `BackendError`.
 */
export async function startStdioProcess(
  child: ProcessStreams,
  owner: ChannelOwner,
  options: StdioProcessOptions,
  closing: AbortSignal,
): Promise<StdioProcess> {
  const process = new StdioProcess(child, options);
  const stop = () => void process.stop();
  closing.addEventListener('abort', stop, { once: true });
  try {
    await process.initialize(owner);
    return process;
  } catch (error) {
    await process.stop();
    const { deliberate, cause } = await process.ended;
    throw error instanceof BackendError && !deliberate ? new BackendError({ ...error.failure, cause }) : error;
  } finally {
    closing.removeEventListener('abort', stop);
  }
}

/** One running MCP server on stdin and stdout, initialized once, with any number of channels. */
export class StdioProcess implements PooledProcess {
  readonly ended: Promise<ProcessEnd>;
  alive = true;
  lastUsedAt: number;
  readonly #child: ProcessStreams;
  readonly #options: StdioProcessOptions;
  readonly #peer: JsonRpcPeer;
  #facts: ServerFacts | undefined;
  #deliberate = false;
  /** Number of messages since the process had read everything. */
  #unreadWrites = 0;

  constructor(child: ProcessStreams, options: StdioProcessOptions) {
    this.#child = child;
    this.#options = options;
    this.lastUsedAt = options.now();
    const { name, isolation, log } = options;
    this.#peer = new JsonRpcPeer({
      backend: name,
      isolation,
      log,
      wire: {
        request: (message, id) => {
          if (!this.#write(message)) queueMicrotask(() => this.#peer.failCall(id, UNREAD));
        },
        notify: (message) => {
          if (!this.#write(message)) log.debug('message to backend lost', { backend: name });
        },
      },
    });
    this.#read();
    this.ended = this.#watch(this.lastUsedAt);
  }

  get users(): number {
    return this.#peer.lanes;
  }

  get running(): number {
    return this.#peer.running;
  }

  async initialize(owner: ChannelOwner): Promise<void> {
    const { clientInfo, initTimeoutMs, isolation } = this.#options;
    const onMessage = isShared(isolation) ? () => undefined : owner.onMessage;
    const lane: Lane = { owner: owner.key, onMessage };
    this.#peer.join(lane);
    const ask = (method: string, params: Buffer, timeoutMs = initTimeoutMs): Promise<Buffer> =>
      requestReply((request, sink) => this.#peer.call(lane, request, sink), {
        method,
        params,
        id: Buffer.from('0'),
        timeoutMs,
      });
    try {
      const reply = await initialize(owner, clientInfo, (params) => ask('initialize', params));
      // some servers end, or never answer again, after a request before `initialize`: so it comes first
      if (refusesSessions(reply)) {
        const params = withMeta(undefined, ownMembers(clientInfo));
        const verdict = await ask('server/discover', params, Math.min(initTimeoutMs, DISCOVER_MS)).then(
          verdictOf,
          () => undefined, // the refusal of `initialize` says more
        );
        if (verdict?.era === 'modern') {
          this.#facts = verdict.facts;
          return;
        }
      }
      this.#facts = readServerFacts(reply, true);
    } catch (error) {
      throw this.#peer.garbage > 0 && error instanceof BackendError && error.failure.kind === 'timeout'
        ? new BackendError(garbage('the process writes to stdout, but no MCP messages'))
        : error;
    } finally {
      this.#peer.leave(lane);
    }
    this.#peer.send(INITIALIZED);
  }

  /** Opens a channel over this process. `onClose` is called once, after the channel is closed. */
  channel(owner: ChannelOwner, onClose: () => Promise<void>): Channel {
    const facts = this.#facts;
    if (!facts) throw new Error('channel before the handshake');
    const lane: Lane = { owner: owner.key, onMessage: owner.onMessage };
    this.#peer.join(lane);
    const isAlive = () => this.alive;
    const modern = isSessionless(facts.revision) ? this.#modernRequests(lane, facts) : undefined;
    let open = true;
    return {
      facts,
      get alive() {
        return open && isAlive();
      },
      request: (request, sink) => modern?.request(request, sink) ?? this.#request(lane, request, sink),
      send: (message) => {
        if (modern) modern.answer(message);
        else if (open) this.#peer.send(message);
      },
      listen: () => modern?.wantLists(true),
      get hears() {
        return modern?.hears !== false;
      },
      close: async () => {
        if (!open) return;
        open = false;
        modern?.close();
        this.#peer.leave(lane);
        await onClose();
      },
    };
  }

  #modernRequests(lane: Lane, { capabilities }: ServerFacts): ModernRequests {
    const { clientInfo, log } = this.#options;
    const described = (request: BackendRequest, members: MetaMembers): BackendRequest => ({
      ...request,
      params: withMeta(request.params, members),
    });
    return new ModernRequests({
      exchange: (request, members, sink) => this.#request(lane, described(request, members), sink),
      listen: (request, members, sink) => Promise.resolve(this.#peer.call(lane, described(request, members), sink)),
      clientInfo,
      capabilities,
      onMessage: lane.onMessage,
      log,
    });
  }

  async stop(): Promise<void> {
    this.#deliberate = true;
    this.#fail({ kind: 'unavailable', detail: 'the process is being stopped' });
    await this.#child.stop();
    await this.ended;
  }

  #request(lane: Lane, request: BackendRequest, sink: ReplySink): RequestHandle {
    const touch = () => (this.lastUsedAt = this.#options.now());
    touch();
    return this.#peer.call(lane, request, {
      message: (message, envelope) => sink.message(message, envelope),
      reply: (message) => {
        touch();
        sink.reply(message);
      },
      fail: (failure) => {
        touch();
        sink.fail(failure);
      },
    });
  }

  #fail(failure: BackendFailure): void {
    this.alive = false;
    this.#peer.close(failure);
  }

  #write(message: Buffer): boolean {
    const { stdin } = this.#child;
    if (!stdin?.writable) return false;
    this.#unreadWrites = stdin.writableLength === 0 ? 0 : this.#unreadWrites + 1;
    const unread = stdin.writableLength + this.#unreadWrites * WRITE_BYTES;
    if (unread > 0 && unread + message.length > this.#options.maxMessageBytes) return false;
    stdin.write(toLine(message));
    return true;
  }

  #read(): void {
    const { stdout } = this.#child;
    const lines = createLineSplitter((line) => {
      this.#peer.receive(line);
    }, this.#options.maxMessageBytes);
    stdout.on('data', (chunk: Buffer) => {
      if (!this.alive) return;
      try {
        lines.push(chunk);
      } catch (error) {
        if (!(error instanceof BackendError)) throw error;
        this.#fail(error.failure);
        void this.#child.stop();
      }
    });
    stdout.on('error', () => undefined);
    stdout.once('end', () => void this.#child.stop());
  }

  async #watch(startedAt: number): Promise<ProcessEnd> {
    const { stdout, exited } = this.#child;
    const drained = new Promise<void>((resolve) => stdout.once('close', resolve));
    const exit = await exited;
    const { code, signal, line: stderr, how = signal === null ? `with code ${String(code)}` : `by ${signal}` } = exit;
    const cause = exit.how === undefined ? processEnd(exit) : `the process ended ${exit.how}`;
    const { now, after = afterTimeout, log, name: backend } = this.#options;
    await within(LAST_OUTPUT_MS, drained, undefined, { after });
    this.#fail({ kind: 'unavailable', detail: `the process ended ${how}` });
    if (!this.#deliberate) log.warn('backend process ended', { backend, how, exitCode: code, signal, stderr });
    return { deliberate: this.#deliberate, aliveMs: now() - startedAt, cause };
  }
}

/** Memory of one message that the process has not read yet, beside its bytes. */
const WRITE_BYTES = 256;

/** Longest wait for the reply to `server/discover`, ms. */
const DISCOVER_MS = 3_000;

const UNREAD: BackendFailure = { kind: 'unavailable', detail: 'the process does not read its input' };
