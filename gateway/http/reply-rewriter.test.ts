import { describe, expect, it } from 'vitest';
import { ReplyRewriter } from './reply-rewriter.ts';
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
    ' { "error" : {"code":1,"message":"x"} , "id" : 77 } \n',
  ])('replaces the outermost id only, however the text is cut: %s', (text) => {
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
  ])('refuses %s', (text) => {
    for (const length of [1, 7, text.length]) expect(() => rewrite(text, length)).toThrow(ScanError);
  });
});
