import { describe, expect, it } from 'vitest';
import { paramsOf, readString, scanEnvelope, ScanError, type Span } from './json-scan.ts';
import { arrayElements, memberOf, objectMembers, withMember } from './json-walk.ts';

const bytes = (text: string): Buffer => Buffer.from(text);
const cut = (body: Buffer, span: Span | undefined): string | undefined =>
  span && body.toString('utf8', span.start, span.end);
const fault = (body: Buffer | string): string => {
  try {
    const buffer = typeof body === 'string' ? bytes(body) : body;
    paramsOf(scanEnvelope(buffer));
    return 'accepted';
  } catch (error) {
    if (error instanceof ScanError) return error.fault;
    throw error;
  }
};

describe('scanEnvelope', () => {
  it('finds the members of a call as byte spans', () => {
    const body = bytes(
      ' {"jsonrpc": "2.0", "id" : "ä\\n", "method":"tools/call","params": {"name":"e\\u0063ho","arguments":{"n":9007199254740993,"x":1e400},"_meta":{}} } ',
    );
    const envelope = scanEnvelope(body);
    const params = paramsOf(envelope);
    expect(cut(body, envelope.id)).toBe('"ä\\n"');
    expect(envelope.method).toBe('tools/call');
    expect(readString(body, params.name)).toBe('echo');
    expect(cut(body, params.arguments)).toBe('{"n":9007199254740993,"x":1e400}');
    expect(cut(body, params.meta)).toBe('{}');
  });

  it.each([
    ['batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]'],
    ['parse', ''],
    ['parse', '{'],
    ['parse', '{"jsonrpc":"2.0","id":1,"method":"ping"} x'],
    ['parse', '{"jsonrpc":"2.0","id":1,"method":"ping",}'],
    ['parse', '{"jsonrpc":"2.0","id":01,"method":"ping"}'],
    ['parse', '{"jsonrpc":"2.0","id":1,"method":"pi\ng"}'],
    ['parse', '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[1,]}}'],
    ['parse', '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":tru}}'],
    ['parse', '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\\ud8"}}'],
    ['parse', '\ufeff{"jsonrpc":"2.0","id":1,"method":"ping"}'],
    ['parse', Buffer.from('{"jsonrpc":"2.0","id":1,"method":"\xff"}', 'latin1')],
    ['invalid', '"ping"'],
    ['invalid', '{"id":1,"method":"ping"}'],
    ['invalid', '{"jsonrpc":"1.0","id":1,"method":"ping"}'],
    ['invalid', '{"jsonrpc":"2.0","id":1}'],
    ['invalid', '{"jsonrpc":"2.0","id":null,"method":"ping"}'],
    ['invalid', '{"jsonrpc":"2.0","id":1.0,"method":"ping"}'],
    ['invalid', '{"jsonrpc":"2.0","id":1e400,"method":"ping"}'],
    ['invalid', '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}'],
    ['invalid', '{"jsonrpc":"2.0","id":{},"method":"ping"}'],
    ['invalid', '{"jsonrpc":"2.0","id":1,"method":7}'],
    ['invalid', '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}'],
    ['invalid', '{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}'],
    ['invalid', '{"jsonrpc":"2.0","id":1,"method":"ping","m\\u0065thod":"tools/call"}'],
    ['invalid', '{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"param\u017f":{"name":"x"}}'],
    ['invalid', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","NAME":"b"}}'],
    ['invalid', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","\\u0061rguments":{"n":1}}}'],
    ['invalid', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","Arguments":{"n":1}}}'],
    ['invalid', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","argument\u017f":{"n":1}}}'],
    ['invalid', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","requeststate":"s"}}'],
    ['invalid', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","Task":{}}}'],
    ['invalid', '{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"a","TASKID":"b"}}'],
    ['invalid', '{"jsonrpc":"2.0","\\u0069d":1,"method":"ping"}'],
    ['accepted', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","argument":1,"requestStates":2}}'],
    ['invalid', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}'],
    ['invalid', `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${'['.repeat(300)}${']'.repeat(300)}}}`],
    ['invalid', `{"jsonrpc":"2.0","id":1,"method":"ping","params":{${'"a":1,'.repeat(1_000)}"b":1}}`],
    ['accepted', `{"jsonrpc":"2.0","id":1,"method":"ping","params":{${'"a":1,'.repeat(999)}"b":1}}`],
    ['invalid', `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{${'"a":1,'.repeat(1_000)}"b":1}}}`],
    ['accepted', `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{${'"a":1,'.repeat(999)}"b":1}}}`],
    ['accepted', '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":[{"a":1},2]}}'],
    ['accepted', '{"jsonrpc":"2.0","id":-3,"method":"ping","params":{"arguments":{"a":1,"A":2,"a":3}}}'],
    ['accepted', `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${'['.repeat(190)}${']'.repeat(190)}}}`],
  ])('%s: %s', (expected, body) => {
    expect(fault(body)).toBe(expected);
  });

  it('accepts the same mutated texts as JSON.parse', () => {
    const seed =
      '{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1.5e-3,"\\u00e9\\"",{},[],null,true],"b":{"c":-0}}}';
    const alphabet = '{}[]",:\\0123.eE+-tfn u\n';
    let state = 7;
    const random = (below: number): number => (state = (state * 48271) % 2147483647) % below;
    let disagreements = 0;
    for (let round = 0; round < 20_000; round += 1) {
      const at = random(seed.length);
      const text = seed.slice(0, at) + (alphabet[random(alphabet.length)] ?? '') + seed.slice(at + random(3));
      const valid = ((): boolean => {
        try {
          JSON.parse(text);
          return true;
        } catch {
          return false;
        }
      })();
      if ((fault(text) !== 'parse') !== valid) disagreements += 1;
    }
    expect(disagreements).toBe(0);
  });

  it('reads each message as without a text of an earlier one', () => {
    const meta = '{"a":{"b":"}"}}';
    const whole = `{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"n","_meta":${meta},"uri":"u"}}`;
    const cuts = Array.from(whole, (_, at) => whole.slice(0, at));
    const changed = Array.from(whole, (_, at) => `${whole.slice(0, at)}"${whole.slice(at + 1)}`);
    const others = [
      whole.replace(meta, `${meta}}`),
      whole.replace(meta, '{"a":1}'),
      whole.replace('"name":', `"_meta":${meta},"":`),
    ];
    const outcome = (text: string, validMeta?: Buffer): unknown => {
      try {
        const { surface, ...envelope } = scanEnvelope(bytes(text), validMeta);
        return { ...envelope, surface: { ...surface, knownMeta: undefined } };
      } catch (error) {
        return String(error);
      }
    };
    for (const text of [whole, ...cuts, ...changed, ...others])
      expect(outcome(text, bytes(meta)), text).toEqual(outcome(text));
    const known = bytes(meta);
    expect(scanEnvelope(bytes(whole), known).surface?.knownMeta).toBe(known);
    expect(scanEnvelope(bytes(whole.replace(meta, '{"a":1}')), known).surface?.knownMeta).toBeUndefined();
  });
});

describe('a body of 4 MiB of tiny parts', () => {
  const SIZE = 4 * 1024 * 1024;
  const filled = (head: string, part: string, tail: string): Buffer =>
    bytes(head + part + `,${part}`.repeat((SIZE - head.length - tail.length - part.length) / (part.length + 1)) + tail);
  const call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{';

  /** Reads every byte once with an iterator, in some 60 ms: the measure of this machine. A scan takes up to 1.1 times as long. */
  const separators = (body: Buffer): number => {
    let count = 0;
    for (const byte of body) if (byte === 0x2c || byte === 0x22 || byte === 0x7b || byte === 0x5b) count += 1;
    return count;
  };

  /** CPU time of this thread: the others of the process run other tests. */
  const cpuMs = (run: () => void): number => {
    const before = process.threadCpuUsage();
    run();
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000;
  };

  it.each([
    ['members of the message', '{"jsonrpc":"2.0","id":1,"method":"ping",', '"a":1', '}', 'invalid'],
    ['members that are not ASCII', '{"jsonrpc":"2.0","id":1,"method":"ping",', '"\u00e9":1', '}', 'invalid'],
    ['members of params', call, '"a":1', '}}', 'invalid'],
    ['members of _meta', `${call}"_meta":{`, '"a":1', '}}}', 'invalid'],
    ['members with escapes', call, '"\\u0061rg":1', '}}', 'invalid'],
    ['empty arrays', `${call}"arguments":{"a":[`, '[]', ']}}}', 'accepted'],
    ['empty objects', `${call}"arguments":{"a":[`, '{}', ']}}}', 'accepted'],
    ['arguments', `${call}"arguments":{`, '"a":1', '}}}', 'accepted'],
    ['numbers', `${call}"arguments":{"a":[`, '1', ']}}}', 'accepted'],
    ['literals', `${call}"arguments":{"a":[`, 'true', ']}}}', 'accepted'],
    ['deep arrays', `${call}"arguments":{"a":[`, '['.repeat(190) + ']'.repeat(190), ']}}}', 'accepted'],
    ['escapes', `${call}"arguments":{"a":["`, '\\n\\u0041', '"]}}}', 'accepted'],
  ])('is scanned quickly: %s', (_what, head, part, tail, expected) => {
    const body = filled(head, part, tail);
    const scans: number[] = [];
    const reads: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      scans.push(cpuMs(() => expect(fault(body)).toBe(expected)));
      reads.push(cpuMs(() => expect(separators(body)).toBeGreaterThan(0)));
    }
    expect(Math.min(...scans) / Math.min(...reads)).toBeLessThan(3);
  });
});

describe('members and elements', () => {
  it('sets a member and keeps every other byte', () => {
    const text = bytes('{ "name" : "a" , "n":1.000 }');
    const whole = { start: 0, end: text.length };
    expect(withMember(text, whole, 'name', '"b"').toString()).toBe('{ "name" : "b" , "n":1.000 }');
    expect(withMember(text, whole, 'new', '2').toString()).toBe('{"new":2, "name" : "a" , "n":1.000 }');
    expect(withMember(bytes('{ }'), { start: 0, end: 3 }, 'new', '2').toString()).toBe('{"new":2 }');
  });

  it('finds the last of equal members, as JSON.parse does, with any escapes in the key', () => {
    const text = bytes('{"level":1,"x":{"level":2},"l\\u0065vel":3,"Level":4}');
    const whole = { start: 0, end: text.length };
    expect(cut(text, memberOf(text, whole, 'level'))).toBe('3');
    expect(cut(text, memberOf(text, memberOf(text, whole, 'x'), 'level'))).toBe('2');
    expect(memberOf(text, memberOf(text, whole, 'Level'), 'level')).toBeUndefined();
    expect(memberOf(text, whole, 'none')).toBeUndefined();
  });

  it('lists members and elements as spans', () => {
    const text = bytes('{"a":[1, {"b":2} ,"x"],"c":{}}');
    const members = objectMembers(text, { start: 0, end: text.length });
    expect([...members.keys()]).toEqual(['a', 'c']);
    const list = members.get('a');
    expect(list && arrayElements(text, list).map((span) => cut(text, span))).toEqual(['1', '{"b":2}', '"x"']);
  });
});
