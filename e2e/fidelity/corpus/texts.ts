import { content, resultCases, TEXT, type ReplyCase } from './case.ts';

const structured = (json: string): string => content(TEXT, `,"structuredContent":{"v":${json}}`);
const text = (json: string): string => content(`{"type":"text","text":${json}}`);
const nested = (depth: number): string => `${'[{"a":'.repeat(depth / 2)}null${'}]'.repeat(depth / 2)}`;

/** JSON texts that parsing and serialising would change. */
const SPELLINGS = resultCases('tools/call', {
  'number-above-2-53': structured('9007199254740993'),
  'number-beyond-double': structured('1e400'),
  'number-below-double': structured('-1e-400'),
  'number-minus-zero': structured('-0'),
  'number-minus-zero-point': structured('-0.0'),
  'number-one-point-zero': structured('1.0'),
  'number-trailing-zeros': structured('[1.500,0.10,100.00]'),
  'number-exponents': structured('[1E5,1e+5,1.0e-0,0e0]'),
  'number-many-digits': structured(`${'1234567890'.repeat(20)}.${'0987654321'.repeat(20)}`),
  'string-high-surrogate': text(String.raw`"\ud800"`),
  'string-low-surrogate': text(String.raw`"a\uDC00b"`),
  'string-reversed-pair': text(String.raw`"\udc00\ud800"`),
  'string-escaped-pair': text(String.raw`"\ud83d\ude42 and 🙂"`),
  'string-escaped-ascii': text(String.raw`"\u0041\/\u002f\u0022"`),
  'string-upper-hex': text(String.raw`"\u00fc \u00FC"`),
  'string-controls': text(String.raw`"\u0000\u001f\u007f\b\f\n\r\t"`),
  'string-separators': text('"\u2028\u2029\u0085\ufeff"'),
  'string-escaped-separators': text(String.raw`"\u2028\u2029\ufeff"`),
  'string-del-and-c1': text('"\u007f\u0080\u009f"'),
  'string-combining': text('"e\u0301 \u00e9 \u1e9b\u0323"'),
  'string-noncharacters': text('"\ufffe\uffff\u{10ffff}"'),
  'string-scripts': text('"مرحبا שלום 你好 नमस्ते 👩‍👩‍👧‍👦 ‮abc‬"'),
  'string-backslashes': text(String.raw`"C:\\dir\\\"x\" \\u0041"`),
  'string-looks-like-sse': text(String.raw`"data: {\"id\":1}\n\nevent: end\n\n"`),
  'string-looks-like-http': text(String.raw`"HTTP/1.1 200 OK\r\n\r\n0\r\n\r\n"`),
  'members-duplicate': structured('{"a":1,"a":2,"A":3}'),
  'members-duplicate-in-result': content(TEXT, ',"x":1,"x":2,"_meta":{},"_meta":{"a":1}'),
  'members-order': structured('{"b":1,"a":2,"10":3,"9":4,"1":5}'),
  'members-prototype': structured('{"__proto__":{"a":1},"constructor":null,"toString":0,"hasOwnProperty":1}'),
  'members-empty-name': structured('{"":{"":[]}," ":0}'),
  'members-escaped-names': structured(String.raw`{"\u0061":1,"\n":2,"\ud800":3}`),
  'space-spaces': `{ "content" : [ ${TEXT} ] , "a" : { } , "b" : [ ] }`,
  'space-tabs': `{\t"content":\t[\t${TEXT}\t]\t}`,
  'space-lines': `{\n  "content": [\n    ${TEXT}\n  ],\n  "isError": false\n}`,
  'space-carriage-returns': `{\r\n"content":[\r\n${TEXT}\r\n]\r}`,
  'deep-150': structured(nested(150)),
  'wide-10000': structured(`[${Array.from({ length: 10_000 }, (_, at) => `${String(at)}.0`).join(',')}]`),
  'long-member-name': structured(`{"${'n'.repeat(70_000)}":0}`),
});

/** Text with UTF-8 sequences of every length, so that pieces of the stream end inside one. */
const MIXED = 'aü€🙂"';
const large = (bytes: number): string => {
  const piece = JSON.stringify(MIXED).slice(1, -1);
  return piece.repeat(Math.ceil(bytes / Buffer.byteLength(piece)));
};

const SIZES = resultCases('tools/call', {
  'size-64-kb': text(`"${large(64 * 1024)}"`),
  'size-257-kb': text(`"${large(257 * 1024)}"`),
  'size-5-mb': text(`"${large(5 * 1024 * 1024)}"`),
  'size-many-items': content(Array.from({ length: 5_000 }, () => TEXT).join(',')),
});

/** The same result in messages of different forms. */
const ENVELOPES: readonly ReplyCase[] = Object.entries({
  'envelope-id-last': '{"result":MEMBER,"jsonrpc":"2.0","id":ID}',
  'envelope-spaced': ' { "jsonrpc" : "2.0" , "id" : ID , "result" : MEMBER } ',
  'envelope-unknown-member': '{"jsonrpc":"2.0","id":ID,"result":MEMBER,"x-trace":{"id":7,"result":{}}}',
  'envelope-lines': '{\n "jsonrpc": "2.0",\n "id": ID,\n "result": MEMBER\n}\n',
}).map(([name, envelope]) => ({ name, envelope, method: 'tools/call', member: 'result', json: content(TEXT) }));

/** A long reply with the id at its end. */
const LATE_ID: ReplyCase = {
  name: 'envelope-large-id-last',
  envelope: '{"result":MEMBER,"jsonrpc":"2.0","id":ID}',
  method: 'tools/call',
  member: 'result',
  json: text(`"${large(300 * 1024)}"`),
};

export const TEXTS: readonly ReplyCase[] = [...SPELLINGS, ...SIZES, ...ENVELOPES, LATE_ID];
