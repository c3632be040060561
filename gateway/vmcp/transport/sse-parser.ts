import { ByteCollector } from '../../bytes/byte-collector.ts';
import { BackendError } from './channel.ts';

/** One block of an event stream. */
export interface SseEvent {
  /** `message` when the block has none. */
  readonly event: string;
  /**
   * The `data` lines, joined by LF; may be a view of its chunk. Empty for a block with only an `id` or a `retry`, which
   * a reconnect needs.
   */
  readonly data: Buffer;
  /** Last event id of the stream so far, not only of this block. */
  readonly id: string | undefined;
  /** Reconnection time, ms. */
  readonly retry?: number;
}

export interface SseParser {
  /**
   * Parses the next bytes and reports every completed block, in order, before it returns. A block without a final empty
   * line is never reported. @throws BackendError `too_large` when one block has more than `maxEventBytes`, or an id or a
   * name is too long; the parser must not be used afterwards
   */
  push(chunk: Buffer): void;
  /** Returns the number of bytes of the incomplete block. */
  pending(): number;
  /** Returns the number of lines since the last reported block. */
  lines(): number;
}

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
/** Fields `event` and `retry`. */
const LONGEST_NAME = 5;
/** Longest id, which is sent in a header, and longest name of an event. Both stay in memory, uncounted. */
const LONGEST_TEXT_BYTES = 8 * 1024;
const NOTHING = Buffer.alloc(0);
const LINE_FEED = Buffer.from('\n');
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Parses `text/event-stream` bytes, cut anywhere into chunks. @see WHATWG HTML section 9.2.6 */
export function createSseParser(onEvent: (event: SseEvent) => void, maxEventBytes: number): SseParser {
  const blocks = createBlocks((event) => {
    lines = 0;
    onEvent(event);
  });
  const unfinished = new ByteCollector();
  let firstLine = true;
  let skipLineFeed = false;
  let lines = 0;

  const guardSize = (more: number) => {
    if (blocks.bytes() + unfinished.length + more <= maxEventBytes) return;
    throw new BackendError({ kind: 'too_large', detail: `an event is larger than ${maxEventBytes} bytes` });
  };
  /** Ends a line of which the last bytes are those of `chunk` between `from` and `to`. */
  const endLine = (chunk: Buffer, from: number, to: number) => {
    guardSize(to - from);
    lines += 1;
    if (unfinished.length > 0) {
      unfinished.pushPart(chunk, from, to);
      const line = unfinished.take();
      readLine(line, 0, line.length);
    } else readLine(chunk, from, to);
  };
  const readLine = (chunk: Buffer, from: number, to: number) => {
    const isMarked = firstLine && chunk.subarray(from, Math.min(from + 3, to)).equals(BYTE_ORDER_MARK);
    firstLine = false;
    blocks.line(chunk, isMarked ? from + 3 : from, to);
  };

  return {
    pending: () => blocks.bytes() + unfinished.length,
    lines: () => lines,
    push(chunk) {
      let at = 0;
      if (skipLineFeed && chunk[0] === LF) at = 1;
      if (chunk.length > 0) skipLineFeed = false;
      const ends = lineEnds(chunk);
      for (let end = ends.next(at); end !== -1; end = ends.next(at)) {
        endLine(chunk, at, end);
        at = end + 1;
        if (chunk[end] !== CR) continue;
        if (at === chunk.length) skipLineFeed = true;
        else if (chunk[at] === LF) at += 1;
      }
      if (at < chunk.length) {
        guardSize(chunk.length - at);
        unfinished.push(chunk.subarray(at));
      }
      blocks.releaseChunk();
    },
  };
}

/** Finds CR and LF with the native search. Each byte is searched once per kind, for any number of lines. */
function lineEnds(chunk: Buffer) {
  let cr = -2;
  let lf = -2;
  return {
    /** Returns the offset of the first CR or LF at or after `from`; -1 for none. */
    next(from: number): number {
      if (cr !== -1 && cr < from) cr = chunk.indexOf(CR, from);
      if (lf !== -1 && lf < from) lf = nextLineFeed(chunk, from);
      if (cr === -1) return lf;
      return lf === -1 ? cr : Math.min(cr, lf);
    },
  };
}

/** Length up to which a line is searched here: a call of the native search takes longer. */
const SHORT_LINE_BYTES = 16;

function nextLineFeed(chunk: Buffer, from: number): number {
  const end = Math.min(from + SHORT_LINE_BYTES, chunk.length);
  for (let at = from; at < end; at += 1) if (chunk[at] === LF) return at;
  return chunk.indexOf(LF, end);
}

interface Block {
  event: string;
  /** First data line, while it is the only one and its chunk is being parsed. */
  line: Buffer | undefined;
  /** Data lines with line feeds between them. */
  lines: ByteCollector | undefined;
  /** Bytes of data, including line ends. */
  bytes: number;
  retry: number | undefined;
  /** True when the block must be reported. */
  changed: boolean;
}

const emptyBlock = (): Block => ({
  event: '',
  line: undefined,
  lines: undefined,
  bytes: 0,
  retry: undefined,
  changed: false,
});

/** Collects the fields of a block. */
function createBlocks(onEvent: (event: SseEvent) => void) {
  let block = emptyBlock();
  let lastId: string | undefined;

  const dispatch = () => {
    const { event, line, lines, retry, changed } = block;
    block = emptyBlock();
    if (!changed) return;
    const data = lines ? lines.take() : (line ?? NOTHING);
    const report = { event: event === '' ? 'message' : event, data, id: lastId };
    onEvent(retry === undefined ? report : { ...report, retry });
  };
  const addData = (chunk: Buffer, from: number, to: number) => {
    if (block.bytes === 0) block.line = chunk.subarray(from, to);
    else {
      const lines = collected();
      lines.pushPart(LINE_FEED, 0, 1);
      lines.pushPart(chunk, from, to);
    }
    block.bytes += to - from + 1;
    block.changed = true;
  };
  const collected = (): ByteCollector => {
    const lines = (block.lines ??= new ByteCollector());
    if (block.line) lines.push(block.line);
    block.line = undefined;
    return lines;
  };
  const field = (name: string, value: Buffer) => {
    if (value.length > LONGEST_TEXT_BYTES) guardText(name);
    else if (name === 'event') {
      block.event = value.toString('utf8');
    } else if (name === 'id' && !value.includes(0)) {
      lastId = value.length === 0 ? undefined : value.toString('utf8');
      block.changed = true;
    } else if (name === 'retry' && /^\d{1,9}$/.test(value.toString('latin1'))) {
      block.retry = Number(value.toString('latin1'));
      block.changed = true;
    }
  };

  return {
    bytes: () => block.bytes,
    /** Keeps the data of an incomplete block without the chunk that it is a view of. */
    releaseChunk(): void {
      if (block.line) collected();
    },
    /** Reads the line between `from` and `to`. */
    line(chunk: Buffer, from: number, to: number): void {
      if (from === to) {
        dispatch();
        return;
      }
      const nameEnd = endOfName(chunk, from, to);
      if (nameEnd === from || nameEnd === -1) return; // a comment, or no field
      const isBare = nameEnd === to;
      const start = isBare ? to : nameEnd + (chunk[nameEnd + 1] === SPACE && nameEnd + 1 < to ? 2 : 1);
      if (isData(chunk, from, nameEnd)) addData(chunk, start, to);
      else field(chunk.toString('latin1', from, nameEnd), chunk.subarray(start, to));
    },
  };
}

/** Returns the end of the name of a field, which is the whole line without a colon; -1 for a longer name than any field has. */
function endOfName(chunk: Buffer, from: number, to: number): number {
  const end = Math.min(to, from + LONGEST_NAME + 1);
  for (let at = from; at < end; at += 1) if (chunk[at] === COLON) return at;
  return to - from <= LONGEST_NAME ? to : -1;
}

const DATA = Buffer.from('data');

/** Returns true for the name `data`. */
function isData(chunk: Buffer, from: number, to: number): boolean {
  if (to - from !== DATA.length) return false;
  for (let at = 0; at < DATA.length; at += 1) if (chunk[from + at] !== DATA[at]) return false;
  return true;
}

function guardText(name: string): void {
  if (name !== 'event' && name !== 'id') return;
  const detail = `the "${name}" of an event is larger than ${LONGEST_TEXT_BYTES} bytes`;
  throw new BackendError({ kind: 'too_large', detail });
}
