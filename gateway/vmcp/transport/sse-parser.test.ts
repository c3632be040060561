import { describe, expect, it } from 'vitest';
import { heldBytes } from '../../bytes/testdata/held-bytes.ts';
import { BackendError } from './channel.ts';
import { createSseParser, type SseEvent } from './sse-parser.ts';

type Read = Omit<SseEvent, 'data'> & { data: string };

function parse(chunks: readonly Buffer[], maxEventBytes = 1_000_000): Read[] {
  const events: Read[] = [];
  const parser = createSseParser((event) => events.push({ ...event, data: event.data.toString() }), maxEventBytes);
  for (const chunk of chunks) parser.push(chunk);
  return events;
}

const message = (data: string, id?: string): Read => ({ event: 'message', data, id });

/** Name, stream and expected events. Every stream is parsed whole and cut at all places. */
const STREAMS: [string, string, Read[]][] = [
  ['one event', 'data: {"a":1}\n\n', [message('{"a":1}')]],
  ['no space behind the colon', 'data:x\n\n', [message('x')]],
  ['only the first space is dropped', 'data:  x \n\n', [message(' x ')]],
  ['a named event', 'event: endpoint\ndata: /m?s=1\n\n', [{ event: 'endpoint', data: '/m?s=1', id: undefined }]],
  ['an empty event name means message', 'event:\ndata: x\n\n', [message('x')]],
  ['the name holds for one block', 'event: a\ndata: 1\n\ndata: 2\n\n', [{ ...message('1'), event: 'a' }, message('2')]],
  ['several data lines', 'data: 1\ndata:\ndata: 2\n\n', [message('1\n\n2')]],
  ['data without a colon', 'data\n\n', [message('')]],
  ['CRLF', 'event: e\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n', [{ ...message('1'), event: 'e' }, message('2')]],
  ['CR', 'data: 1\rdata: 2\r\rdata: 3\r\r', [message('1\n2'), message('3')]],
  ['mixed line ends', 'data: 1\r\ndata: 2\n\rdata: 3\r\n\n', [message('1\n2'), message('3')]],
  ['UTF-8 of every width', 'event: é€\ndata: ä€😀\nid: ñ\n\n', [{ event: 'é€', data: 'ä€😀', id: 'ñ' }]],
  ['a byte order mark', '\ufeffdata: x\n\n', [message('x')]],
  ['a byte order mark before an empty line', '\ufeff\n\ndata: x\n\n', [message('x')]],
  ['a second byte order mark belongs to the field name', '\ufeffdata: x\n\ufeffdata: y\n\n', [message('x')]],
  ['comments', ': ping\n\n:\ndata: x\n: y\n\n', [message('x')]],
  ['unknown fields', 'data: x\nfoo: bar\ndatas: y\nevents: z\n\n', [message('x')]],
  ['field names differ by case', 'Data: x\n\n', []],
  ['the id stays for later events', 'id: 1\ndata: a\n\ndata: b\n\n', [message('a', '1'), message('b', '1')]],
  ['an empty id resets it', 'id: 1\ndata: a\n\nid\ndata: b\n\n', [message('a', '1'), message('b')]],
  ['an id with NUL is ignored', 'id: 1\u00002\ndata: a\n\n', [message('a')]],
  ['an id without data', 'id: 7\n\n', [message('', '7')]],
  ['the priming event of 2025-11-25', 'id: 7\nretry: 500\ndata:\n\n', [{ ...message('', '7'), retry: 500 }]],
  ['retry alone', 'retry: 1000\n\ndata: x\n\n', [{ ...message(''), retry: 1000 }, message('x')]],
  ['a retry that is no number', 'retry: 1e3\ndata: x\n\n', [message('x')]],
  ['an event name without data', 'event: x\n\n', []],
  ['empty lines', '\n\r\n\r\n\n', []],
  ['an unfinished block', 'data: 1\n\ndata: 2\n', [message('1')]],
  ['a colon in the value', 'data: {"a":"b:c"}\n\n', [message('{"a":"b:c"}')]],
];

describe('createSseParser', () => {
  it.each(STREAMS)('parses %s, whole, byte by byte and cut at every pair of places', (_, text, expected) => {
    const bytes = Buffer.from(text);
    expect(parse([bytes])).toEqual(expected);
    expect(parse(Array.from(bytes, (byte) => Buffer.from([byte])))).toEqual(expected);
    for (let first = 0; first <= bytes.length; first += 1)
      for (let second = first; second <= bytes.length; second += 1)
        expect(parse([bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)])).toEqual(
          expected,
        );
  });

  it('parses random streams to the same events for any cuts', () => {
    const words = [
      'data: ',
      'data',
      'event: ',
      'id: ',
      'retry: ',
      '\n',
      '\r',
      '\r\n',
      '\n\n',
      'x',
      '€',
      ':',
      ' ',
      '12',
      '\ufeff',
    ];
    let seed = 7;
    const next = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((seed / 2_147_483_648) * below);
    };
    for (let round = 0; round < 500; round += 1) {
      const bytes = Buffer.from(Array.from({ length: 40 }, () => words[next(words.length)] ?? '').join(''));
      const chunks: Buffer[] = [];
      for (let at = 0; at < bytes.length;) {
        const end = at + 1 + next(9);
        chunks.push(bytes.subarray(at, end));
        at = end;
      }
      expect(parse(chunks), JSON.stringify(bytes.toString())).toEqual(parse([bytes]));
    }
  });

  it('reports data as a view of the chunk when one chunk holds it', () => {
    const chunk = Buffer.from('data: abc\n\n');
    const seen: Buffer[] = [];
    createSseParser((event) => seen.push(event.data), 100).push(chunk);
    chunk.write('X', 6);
    expect(seen[0]?.toString()).toBe('Xbc');
  });

  it('parses an event of several MiB in small chunks', () => {
    const data = 'x'.repeat(8 << 20);
    const bytes = Buffer.from(`data: ${data}\n\n`);
    const chunks = Array.from({ length: Math.ceil(bytes.length / 16_384) }, (_, n) =>
      bytes.subarray(n * 16_384, (n + 1) * 16_384),
    );
    expect(parse(chunks, 9 << 20)[0]?.data.length).toBe(data.length);
  });

  it.each([
    ['one long line', [`data: ${'x'.repeat(100)}\n\n`]],
    ['a line that does not end', ['data: ', 'x'.repeat(60), 'x'.repeat(60)]],
    ['many data lines', Array.from({ length: 30 }, () => 'data: xxxx\n')],
    ['a comment that does not end', [`:${'x'.repeat(101)}`]],
  ])('rejects %s beyond the limit', (_, chunks) => {
    expect(() =>
      parse(
        chunks.map((chunk) => Buffer.from(chunk)),
        100,
      ),
    ).toThrow(BackendError);
    expect(() =>
      parse(
        chunks.map((chunk) => Buffer.from(chunk)),
        1_000,
      ),
    ).not.toThrow();
  });

  it.each<[string, Buffer, number]>([
    ['many short data lines', Buffer.from('data:x\n'.repeat(10_000)), 10],
    ['many empty data lines', Buffer.from('data\n'.repeat(10_000)), 20],
    ['a line in pieces of one byte', Buffer.from('x'), 100_000],
    ['one short line beside comments', Buffer.from(`data: x\n${`:${'c'.repeat(100)}\n`.repeat(600)}`), 20],
  ])('row 89: holds at most about twice the bytes that it reports for %s', (_, chunk, times) => {
    const parsers = Array.from({ length: 4 }, () => createSseParser(() => undefined, 10_000_000));
    const before = heldBytes();
    for (const parser of parsers) for (let each = 0; each < times; each += 1) parser.push(Buffer.from(chunk));
    const held = heldBytes() - before;
    expect(held).toBeLessThan(2.2 * parsers.reduce((sum, parser) => sum + parser.pending(), 0) + 100_000);
  });

  it.each(['event', 'id'])('row 89: rejects an "%s" that would stay in memory', (name) => {
    const parsed = (bytes: number) => parse([Buffer.from(`data: x\n${name}: ${'a'.repeat(bytes)}\n\n`)]);
    expect(() => parsed(8_193)).toThrow(BackendError);
    expect(parsed(8_192)).toHaveLength(1);
  });

  it('limits one event, not the stream', () => {
    const chunk = Buffer.from(`: ping\ndata: ${'x'.repeat(50)}\n\n`);
    expect(
      parse(
        Array.from({ length: 100 }, () => chunk),
        100,
      ),
    ).toHaveLength(100);
  });
});

it('counts the lines since the last event, so that a stream without any is read in turns', () => {
  const parser = createSseParser(() => undefined, 1_000);
  parser.push(Buffer.from(': ping\n\n\ndata: 1\n'));
  expect(parser.lines()).toBe(4);
  parser.push(Buffer.from('\ndata: 2\n'));
  expect(parser.lines()).toBe(1);
});
