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
   * line is never reported. @throws BackendError `too_large` when one block has more than `maxEventBytes`; the parser
   * must not be used afterwards
   */
  push(chunk: Buffer): void;
  /** Returns the number of bytes of the incomplete block. */
  pending(): number;
}

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
/** Fields `event` and `retry`. */
const LONGEST_NAME = 5;
const NOTHING = Buffer.alloc(0);
const LINE_FEED = Buffer.from('\n');
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Parses `text/event-stream` bytes, cut anywhere into chunks. @see WHATWG HTML section 9.2.6 */
export function createSseParser(onEvent: (event: SseEvent) => void, maxEventBytes: number): SseParser {
  const blocks = createBlocks(onEvent);
  let unfinished: Buffer[] = [];
  let unfinishedBytes = 0;
  let firstLine = true;
  let skipLineFeed = false;

  const guardSize = (more: number) => {
    if (blocks.bytes() + unfinishedBytes + more <= maxEventBytes) return;
    throw new BackendError({ kind: 'too_large', detail: `an event is larger than ${maxEventBytes} bytes` });
  };
  const endLine = (tail: Buffer) => {
    guardSize(tail.length);
    let line = unfinishedBytes === 0 ? tail : Buffer.concat([...unfinished, tail]);
    unfinished = [];
    unfinishedBytes = 0;
    if (firstLine && line.subarray(0, 3).equals(BYTE_ORDER_MARK)) line = line.subarray(3);
    firstLine = false;
    blocks.line(line);
  };

  return {
    pending: () => blocks.bytes() + unfinishedBytes,
    push(chunk) {
      let at = 0;
      if (skipLineFeed && chunk[0] === LF) at = 1;
      if (chunk.length > 0) skipLineFeed = false;
      const ends = lineEnds(chunk);
      for (let end = ends.next(at); end !== -1; end = ends.next(at)) {
        endLine(chunk.subarray(at, end));
        at = end + 1;
        if (chunk[end] !== CR) continue;
        if (at === chunk.length) skipLineFeed = true;
        else if (chunk[at] === LF) at += 1;
      }
      if (at === chunk.length) return;
      guardSize(chunk.length - at);
      unfinished.push(chunk.subarray(at));
      unfinishedBytes += chunk.length - at;
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
      if (lf !== -1 && lf < from) lf = chunk.indexOf(LF, from);
      if (cr === -1) return lf;
      return lf === -1 ? cr : Math.min(cr, lf);
    },
  };
}

interface Block {
  event: string;
  data: Buffer[];
  /** Bytes in `data`, including line ends. */
  bytes: number;
  retry: number | undefined;
  /** True when the block must be reported. */
  changed: boolean;
}

const emptyBlock = (): Block => ({ event: '', data: [], bytes: 0, retry: undefined, changed: false });

/** Collects the fields of a block. */
function createBlocks(onEvent: (event: SseEvent) => void) {
  let block = emptyBlock();
  let lastId: string | undefined;

  const dispatch = () => {
    const { event, data, retry, changed } = block;
    block = emptyBlock();
    if (!changed) return;
    const report = { event: event === '' ? 'message' : event, data: joinLines(data), id: lastId };
    onEvent(retry === undefined ? report : { ...report, retry });
  };
  const field = (name: string, value: Buffer) => {
    if (name === 'data') {
      block.data.push(value);
      block.bytes += value.length + 1;
      block.changed = true;
    } else if (name === 'event') {
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
    line(line: Buffer): void {
      if (line.length === 0) {
        dispatch();
        return;
      }
      const colon = line.indexOf(COLON);
      if (colon === -1) field(line.toString('latin1', 0, LONGEST_NAME + 1), NOTHING);
      else if (colon > 0 && colon <= LONGEST_NAME)
        field(line.toString('latin1', 0, colon), line.subarray(line[colon + 1] === SPACE ? colon + 2 : colon + 1));
    },
  };
}

function joinLines(lines: readonly Buffer[]): Buffer {
  const [first = NOTHING] = lines;
  return lines.length <= 1 ? first : Buffer.concat(lines.flatMap((line, n) => (n === 0 ? [line] : [LINE_FEED, line])));
}
