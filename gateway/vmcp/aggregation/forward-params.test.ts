import { describe, expect, it } from 'vitest';
import { paramsOf, scanEnvelope } from '../../http/json-scan.ts';
import { aggregate } from './aggregate.ts';
import { edited, forwardParams } from './forward-params.ts';
import { readReference, routeReference } from './routing.ts';
import { catalog, rules } from './testdata/catalogs.ts';

const offer = { tools: ['echo', 'say "hi"', '\ud800'], prompts: ['p'], templates: ['x:{id}'] };
const prefixed = aggregate([catalog('a', offer)], rules(), []).view;
const bare = aggregate([catalog('a', offer)], rules({ conflict_resolution: 'none' }), []).view;

function scan(params: string) {
  const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"m","params": ${params} }`);
  const envelope = scanEnvelope(body);
  return { body, span: envelope.params!, surface: paramsOf(envelope) };
}

describe('edited', () => {
  const text = Buffer.from('..{"a":"ä","b":2,"c":3}..');
  const whole = { start: 2, end: text.length - 2 };
  const replace = (part: string, by: string | Buffer) => {
    const start = text.indexOf(part);
    return { span: { start, end: start + Buffer.byteLength(part) }, text: by };
  };
  const first = replace('"ä"', '"日本"');
  const second = replace('2', Buffer.from('null'));
  const third = replace('3', '');
  const insertion = { span: { start: second.span.end, end: second.span.end }, text: ',"x":true' };

  it.each([
    ['nothing', [], '{"a":"ä","b":2,"c":3}'],
    ['one part', [first], '{"a":"日本","b":2,"c":3}'],
    ['parts in order', [first, second, third], '{"a":"日本","b":null,"c":}'],
    ['parts in any order', [third, first, second], '{"a":"日本","b":null,"c":}'],
    ['a part and inserts behind it', [first, second, insertion], '{"a":"日本","b":null,"x":true,"c":3}'],
  ])('replaces %s', (_name, edits, expected) => {
    expect(edited(text, whole, edits).toString()).toBe(expected);
  });
});

describe('forwardParams', () => {
  it.each([
    [
      '{"name":"a_echo","arguments":{"n":9007199254740993}}',
      'a_echo',
      '{"name":"echo","arguments":{"n":9007199254740993}}',
    ],
    [
      '{ "arguments" : {"name":"a_echo"} , "name" : "a_echo", "_meta":{"x":1e400} }',
      'a_echo',
      '{ "arguments" : {"name":"a_echo"} , "name" : "echo", "_meta":{"x":1e400} }',
    ],
    ['{"name":"\\u0061_echo"}', 'a_echo', '{"name":"echo"}'],
    ['{"name":"a_say \\"hi\\"","x":"\\ud800"}', 'a_say "hi"', '{"name":"say \\"hi\\"","x":"\\ud800"}'],
    ['{"name":"a_\\uD800"}', 'a_\ud800', '{"name":"\\ud800"}'],
  ])('replaces the name of a renamed tool and nothing else: %s', (params, name, expected) => {
    const { body, span, surface } = scan(params);
    expect(forwardParams(body, span, surface.name!, prefixed.tools.get(name)!).toString()).toBe(expected);
  });

  it.each(['{"name":"echo","arguments":{}}', '{ "name" : "\\u0065cho" , "x": 1.0, "y":[ ] }'])(
    'forwards the received bytes without a copy when the name is unchanged: %s',
    (params) => {
      const { body, span, surface } = scan(params);
      const sent = forwardParams(body, span, surface.name!, bare.tools.get('echo')!);
      expect(sent.toString()).toBe(params);
      expect(sent.buffer).toBe(body.buffer);
      expect(sent.byteOffset).toBe(body.byteOffset + span.start);
    },
  );

  it('replaces the name of a renamed prompt', () => {
    const { body, span, surface } = scan('{"name":"a_p","arguments":{"name":"a_p"}}');
    expect(forwardParams(body, span, surface.name!, prefixed.prompts.get('a_p')!).toString()).toBe(
      '{"name":"p","arguments":{"name":"a_p"}}',
    );
  });

  it.each([
    [
      '{"ref":{"type":"ref/prompt","name":"a_p"},"argument":{"name":"a_p"}}',
      '{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a_p"}}',
    ],
    [
      '{"argument":{}, "ref":{"uri":"x:{id}","type":"ref/resource"}}',
      '{"argument":{}, "ref":{"uri":"x:{id}","type":"ref/resource"}}',
    ],
  ])('maps the name in a completion reference: %s', (params, expected) => {
    const { body, span, surface } = scan(params);
    const reference = readReference(body, surface.ref!)!;
    const route = routeReference(prefixed, reference)!;
    expect(forwardParams(body, span, reference.value, route).toString()).toBe(expected);
  });
});
