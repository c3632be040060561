import { describe, expect, it } from 'vitest';
import { ReplyRewriter } from './reply-rewriter.ts';
import { scanBackendEnvelope } from './json-scan.ts';
import { ScanError } from './json-walk.ts';

function rewrite(text: string, pieceLength: number): string {
  const rewriter = new ReplyRewriter('77', Buffer.from('"mine"'));
  const bytes = Buffer.from(text);
  let out = '';
  for (let at = 0; at < bytes.length; at += pieceLength)
    out += rewriter.push(bytes.subarray(at, at + pieceLength)).toString('latin1');
  rewriter.end();
  return Buffer.from(out, 'latin1').toString();
}

describe('ReplyRewriter', () => {
  it.each([
    '{"jsonrpc":"2.0","id":77,"result":{"id":77,"a":["}",{"id":5}],"s":"\\"id\\":77"}}',
    '{"result":{"text":"ä\\\\"},"jsonrpc":"2.0","id":77}',
    ' { "error" : {"code":1,"message":"x"} , "jsonrpc" : "2.0" , "id" : 77 } \n',
    '{"jsonrpc":"2.0","id":77,"result":{"ID":1,"\\u0069d":2,"id":3},"_\\u0069d":5,"idle":6}',
  ])('replaces the outermost id only, for every split of the text: %s', (text) => {
    for (let length = 1; length <= text.length; length += 1) {
      expect(JSON.parse(rewrite(text, length))).toEqual({ ...(JSON.parse(text) as object), id: 'mine' });
    }
    expect(rewrite(text, text.length).length).toBe(text.length + '"mine"'.length - '77'.length);
  });

  it.each([
    '{"jsonrpc":"2.0","id":78,"result":{}}',
    '{"jsonrpc":"2.0","id":"77","result":{}}',
    '{"jsonrpc":"2.0","result":{}}',
    '{"jsonrpc":"2.0","id":77}',
    '{"jsonrpc":"2.0","id":77,"result":{}',
    '{"jsonrpc":"2.0","id":77,"result":{}} x',
    '[1]',
    'garbage',
    '{"id":77,"result":{}}',
    '{"jsonrpc":"1.0","id":77,"result":{}}',
    '{"jsonrpc":2.0,"id":77,"result":{}}',
    '{"jsonrpc":"2.0","id":77,"result":[]}',
    '{"jsonrpc":"2.0","id":77,"result":{},"error":{"code":1,"message":"x"}}',
    '{"jsonrpc":"2.0","id":77,"result":{},"method":"sampling/createMessage"}',
    '{"jsonrpc":"2.0","id":77,"\u0001":1,"result":{}}',
  ])('rejects %s', (text) => {
    for (const length of [1, 7, text.length]) expect(() => rewrite(text, length)).toThrow(ScanError);
  });

  /** Clients may read the last of two keys, unescape keys and ignore their case. */
  it.each([
    '"id":78',
    '"\\u0069d":78',
    '"i\\u0064":78',
    '"\\u0069\\u0064":78',
    '"ID":78',
    '"\\u0049d":78',
    '"re\\u0073ult":{}',
    '"Result":{}',
    '"re\u017fult":{}',
    '"\\u0065rror":{"code":1,"message":"x"}',
    '"\\u006dethod":"sampling/createMessage"',
    '"param\\u0073":{}',
    '"json\\u0072pc":"2.0"',
    '"jsonrpc":"2.0"',
    `"${String.raw`\u006a\u0073\u006f\u006e\u0072\u0070\u0063`}":"2.0"`,
  ])('rejects %s in addition to the members of a reply, short or long, for every split of the text', (member) => {
    const before = `{"jsonrpc":"2.0",${member},"id":77,"result":{}}`;
    const behind = `{"jsonrpc":"2.0","id":77,"result":{},${member}}`;
    for (const text of [before, behind]) {
      for (let length = 1; length <= text.length; length += 1) expect(() => rewrite(text, length)).toThrow(ScanError);
      expect(() => scanBackendEnvelope(Buffer.from(text))).toThrow(ScanError);
    }
  });
});
