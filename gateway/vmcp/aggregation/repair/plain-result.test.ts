import { expect, it } from 'vitest';
import { isPlainResult } from './results.ts';

const text = (value: string, more: object = {}): object => ({ content: [{ type: 'text', text: value, ...more }] });
const reply = (result: object, id: unknown = 7): string => JSON.stringify({ jsonrpc: '2.0', id, result });

it.each([
  ['a text', reply(text('hello'))],
  ['no text', reply(text(''))],
  ['escaped quotes', reply(text('say "a", \n "b"'))],
  ['another order of members', JSON.stringify({ result: text('x'), jsonrpc: '2.0', id: 'a-1' })],
  ['isError false', reply({ ...text('x'), isError: false })],
])('knows %s', (_, message) => {
  expect(isPlainResult(Buffer.from(message))).toBe(true);
});

it.each([
  ['an error', reply({ ...text('x'), isError: true })],
  ['null', reply(text('x', { annotations: null }))],
  ['a second block', reply({ content: [...(text('x') as { content: object[] }).content, { type: 'text' }] })],
  ['a member behind a text that ends with a backslash', reply(text('x\\', { _meta: null }))],
  ['structured content', reply({ ...text('x'), structuredContent: [1] })],
  ['a text in a text', reply({ content: '"result":{"content":[{"type":"text","text":"x"}]}' })],
  ['an id that looks like a result', reply({ content: null }, '"result":{"content":[{"type":"text","text":"')],
  ['a failure', JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32_000, message: 'x' } })],
  ['many quotes', reply(text('"'.repeat(100)))],
  ['a long text', reply(text('x'.repeat(5_000)))],
])('leaves %s to others', (_, message) => {
  expect(isPlainResult(Buffer.from(message))).toBe(false);
});
