import type { Logger } from '../contract/logger.ts';
import { within } from '../kit/time.ts';

/** Place that lines are written to. One method runs at a time. */
export interface AuditDestination {
  /** Name for people: a path, or `standard output`. */
  readonly name: string;
  /** Writes bytes and returns how many were written. Stays pending while the reader takes nothing. */
  write(bytes: Buffer): Promise<number>;
  /** Makes written bytes durable. */
  sync(): Promise<void>;
  /** Opens the place again, because its file was renamed. The present one stays in use if that fails. */
  reopen(): Promise<void>;
  close(): Promise<void>;
}

export type DropReason =
  | 'queue_full' // written more slowly than events came
  | 'write_failed'; // could not be written, for example because the disk is full

export interface OutputLimits {
  /** Most events that wait. */
  readonly maxEvents: number;
  /** Most bytes that wait. */
  readonly maxBytes: number;
  /** Longest time before an event is written. */
  readonly flushMs: number;
  /** Longest time before written events are durable. */
  readonly syncMs: number;
  /** Wait after a failed write. */
  readonly retryMs: number;
  /** Longest wait for the last events at the end. */
  readonly closeMs: number;
  /** Interval of log lines about one problem. */
  readonly reportMs: number;
}

export const OUTPUT_LIMITS: OutputLimits = {
  maxEvents: 32_768,
  maxBytes: 16 * 1024 * 1024,
  flushMs: 100,
  syncMs: 1_000,
  retryMs: 1_000,
  closeMs: 2_000,
  reportMs: 60_000,
};

const LINE_BREAK = 0x0a;
/** Most bytes of one write, unless a single line is longer. */
const CHUNK_BYTES = 256 * 1024;
/** Share of the queue from which new calls can be refused: the rest is for events of running calls. */
const REFUSE_FROM = 0.5;

/** Lines that are written together: the first `bytes` of the buffer. */
interface Chunk {
  readonly buffer: Buffer;
  events: number;
  bytes: number;
}

/**
 * Bounded queue of lines in front of a destination. Adding a line never waits: a line that does not fit is dropped. After a failed
 * write the lines stay in the queue and are written again, so that a short outage loses none.
 */
export class AuditOutput {
  readonly #destination: AuditDestination;
  readonly #log: Pick<Logger, 'warn' | 'info'>;
  readonly #limits: OutputLimits;
  readonly #chunks: Chunk[] = [];
  /** Buffer of the last chunk that was written. A new one would be cleared by the kernel page by page. */
  #spare: Buffer | undefined;
  #events = 0;
  #bytes = 0;
  #flushTimer: NodeJS.Timeout | undefined;
  #syncTimer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #wake: (() => void) | undefined;
  #isReopening = false;
  #isClosing = false;
  #failure: string | undefined;
  /** Time of the first write since the last sync; undefined when everything is durable. */
  #unsyncedSince: number | undefined;
  #droppedSinceReport = 0;
  #reportedAt = -Infinity;

  constructor(destination: AuditDestination, log: Pick<Logger, 'warn' | 'info'>, limits: OutputLimits = OUTPUT_LIMITS) {
    this.#destination = destination;
    this.#log = log;
    this.#limits = limits;
  }

  /** True while new calls should be refused rather than lose their events. */
  get isCongested(): boolean {
    const { maxEvents, maxBytes } = this.#limits;
    return this.#events > maxEvents * REFUSE_FROM || this.#bytes > maxBytes * REFUSE_FROM;
  }

  /** Queues a line, which ends with a line break. Returns the reason if it was dropped. */
  add(line: string): DropReason | undefined {
    const bytes = Buffer.byteLength(line);
    if (this.#events >= this.#limits.maxEvents || this.#bytes + bytes > this.#limits.maxBytes) return this.#drop();
    const chunk = this.#chunkWith(bytes);
    chunk.buffer.write(line, chunk.bytes);
    chunk.events += 1;
    chunk.bytes += bytes;
    this.#events += 1;
    this.#bytes += bytes;
    if (this.#writing === undefined) {
      if (this.#chunks.length > 1) this.#write();
      else this.#flushTimer ??= setTimeout(this.#write, this.#limits.flushMs);
    }
    return undefined;
  }

  /** Returns the chunk that has room for the next line of so many bytes. */
  #chunkWith(bytes: number): Chunk {
    const last = this.#chunks.at(-1);
    if (last && last.bytes + bytes <= last.buffer.length) return last;
    const spare = bytes <= CHUNK_BYTES ? this.#spare : undefined;
    if (spare) this.#spare = undefined;
    const chunk = { buffer: spare ?? Buffer.allocUnsafeSlow(Math.max(bytes, CHUNK_BYTES)), events: 0, bytes: 0 };
    this.#chunks.push(chunk);
    return chunk;
  }

  /** Opens the destination again, before the next line is written. */
  reopen(): void {
    this.#isReopening = true;
    this.#wake?.();
    if (this.#writing === undefined) this.#write();
  }

  /** Writes the rest, within `closeMs`, and closes the destination. Logs how many events were lost. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#wake?.();
    const written = this.#writeRest().then(() => true);
    const isInTime = await within(this.#limits.closeMs, written, false);
    if (this.#events > 0)
      this.#log.warn('audit events were lost at the end', { count: this.#events, destination: this.#destination.name });
    if (isInTime) await this.#destination.close().catch(() => undefined);
  }

  async #writeRest(): Promise<void> {
    await this.#writing;
    this.#write();
    await this.#writing;
  }

  #drop(): DropReason {
    this.#droppedSinceReport += 1;
    this.#report();
    return this.#failure === undefined ? 'queue_full' : 'write_failed';
  }

  /** Logs the present problem, at most once in `reportMs`. */
  #report(): void {
    const now = performance.now();
    if (now - this.#reportedAt < this.#limits.reportMs) return;
    this.#reportedAt = now;
    const dropped = this.#droppedSinceReport;
    this.#droppedSinceReport = 0;
    const facts = { destination: this.#destination.name, dropped, ...(this.#failure && { error: this.#failure }) };
    if (this.#failure === undefined) this.#log.warn('audit events are written too slowly, and dropped', facts);
    else this.#log.warn('audit events cannot be written: free the disk, or correct its permissions', facts);
  }

  readonly #write = (): void => {
    clearTimeout(this.#flushTimer);
    clearTimeout(this.#syncTimer);
    this.#flushTimer = undefined;
    this.#writing = this.#drain().finally(() => {
      this.#writing = undefined;
      this.#plan();
    });
  };

  async #drain(): Promise<void> {
    await this.#reopenDestination();
    for (let chunk = this.#chunks.shift(); chunk; chunk = this.#chunks.shift()) {
      const { buffer, bytes, events } = chunk;
      if (!(await this.#writeAll(buffer.subarray(0, bytes)))) return;
      this.#events -= events;
      this.#bytes -= bytes;
      if (buffer.length === CHUNK_BYTES) this.#spare = buffer;
      const isNextFull = this.#chunks.length > 1;
      if (!isNextFull && !this.#isClosing) break; // collects more lines first
    }
    if (this.#isClosing) await this.#sync();
    else await this.#syncIfDue();
  }

  /** Writes until everything is written. Returns false if the end came first. */
  async #writeAll(bytes: Buffer): Promise<boolean> {
    for (let at = 0; at < bytes.length;) {
      try {
        at += await this.#destination.write(bytes.subarray(at));
        this.#recovered();
        this.#unsyncedSince ??= performance.now();
      } catch (error) {
        this.#failed(error);
        if (this.#isClosing) return false;
        await this.#pause();
        const isNewFile = await this.#reopenDestination();
        if (isNewFile && at > 0) at = bytes.lastIndexOf(LINE_BREAK, at - 1) + 1; // with a whole line
      }
    }
    return true;
  }

  /** Waits before the next attempt; `reopen` and `close` end the wait. */
  async #pause(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#limits.retryMs);
      timer.unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }

  /** Returns true if the destination was opened again. */
  async #reopenDestination(): Promise<boolean> {
    if (!this.#isReopening) return false;
    this.#isReopening = false;
    try {
      await this.#destination.reopen();
      this.#unsyncedSince = undefined;
      return true;
    } catch (error) {
      const facts = { destination: this.#destination.name, error: codeOf(error) };
      this.#log.warn('the audit log cannot be opened again: events go on to the previous file', facts);
      return false;
    }
  }

  #failed(error: unknown): void {
    const isNew = this.#failure === undefined;
    this.#failure = codeOf(error);
    if (isNew) this.#report();
  }

  #recovered(): void {
    if (this.#failure === undefined) return;
    this.#failure = undefined;
    const facts = { destination: this.#destination.name, dropped: this.#droppedSinceReport };
    this.#droppedSinceReport = 0;
    this.#log.info('audit events are written again', facts);
  }

  async #syncIfDue(): Promise<void> {
    if (this.#unsyncedSince === undefined || performance.now() - this.#unsyncedSince < this.#limits.syncMs) return;
    await this.#sync();
  }

  async #sync(): Promise<void> {
    if (this.#unsyncedSince === undefined) return;
    this.#unsyncedSince = undefined;
    await this.#destination.sync().catch((error: unknown) => {
      this.#failed(error);
    });
  }

  /** Plans the next write, which also makes durable what was written last. */
  #plan(): void {
    if (this.#isClosing) return;
    const { flushMs, syncMs } = this.#limits;
    if (this.#isReopening || this.#chunks.length > 0) this.#flushTimer = setTimeout(this.#write, flushMs);
    else if (this.#unsyncedSince !== undefined) this.#syncTimer = setTimeout(this.#write, syncMs);
  }
}

export const codeOf = (error: unknown): string =>
  error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.message) : String(error);
