import { describe, expect, it } from 'vitest';
import { leafTexts } from './xml-reply.ts';

describe('leafTexts', () => {
  it('returns the texts of leaf elements by path', () => {
    const xml = `\uFEFF<?xml version="1.0"?>\n<A xmlns="https://sts.amazonaws.com/doc/2011-06-15/">\n  <B>\n    <C>x/+=</C>\n    <D/>\n    <E></E></B>
      <F>a &amp;&lt;&gt;&quot;&apos; &#39;&#x2F;</F></A>\n`;
    expect(leafTexts(xml)).toEqual(
      new Map([
        ['A/B/C', 'x/+='],
        ['A/B/E', ''],
        ['A/F', `a &<>"' '/`],
      ]),
    );
  });

  it.each([
    '',
    'text',
    '{"a":1}',
    '<A>',
    '<A></B>',
    '</A>',
    '<A>1</A><B>2</B>',
    '<A>1</A>tail',
    '<A><B>1</B>text</A>',
    '<A>text<B>1</B></A>',
    '<A><B>1</B><B>2</B></A>',
    '<!DOCTYPE A [<!ENTITY e "x">]><A>&e;</A>',
    '<A>&e;</A>',
    '<A>&constructor;</A>',
    '<A>&#x110000;</A>',
    '<A>a & b</A>',
    '<A><!-- c -->1</A>',
    '<A><![CDATA[1]]></A>',
    '<?xml version="1.0"',
    '<A>'.repeat(20) + '</A>'.repeat(20),
  ])('rejects %j', (xml) => {
    expect(leafTexts(xml)).toBeUndefined();
  });

  it.each(['<', '<A>', '<A ', '&', '<A>&', '</', '<?xml '])('reads a megabyte of %j quickly', (pump) => {
    const xml = pump.repeat(Math.ceil(1_000_000 / pump.length));
    const started = performance.now();
    expect(leafTexts(`<A>${xml}`)).toBeUndefined();
    expect(leafTexts(xml)).toBeUndefined();
    expect(performance.now() - started).toBeLessThan(500);
  });
});
