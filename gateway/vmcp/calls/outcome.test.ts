import { describe, expect, it } from 'vitest';
import { errorTypeOfReply } from './outcome.ts';

describe('the type of an error in a reply', () => {
  it.each([
    [{ result: { content: [] } }, undefined],
    [{ result: { content: [], isError: false } }, undefined],
    [{ result: { content: [], isError: true } }, 'tool_error'],
    [{ result: { structuredContent: { isError: false }, isError: true } }, 'tool_error'],
    [{ result: { structuredContent: { isError: true }, isError: false } }, undefined],
    [{ result: { structuredContent: { error: 'x' } } }, undefined],
    [{ error: { code: -32603, message: 'no' } }, '-32603'],
    [{ error: { code: -32603, message: 'no', data: { isError: false } } }, '-32603'],
    [{ error: { code: 'x', message: 'no' } }, '_OTHER'],
  ])('%j', (members, expected) => {
    const texts = [0, 5_000].map((length) =>
      JSON.stringify({ jsonrpc: '2.0', id: 1, ...members, x: 'x'.repeat(length) }),
    );
    for (const text of texts) expect(errorTypeOfReply(Buffer.from(text))).toBe(expected);
  });
});
