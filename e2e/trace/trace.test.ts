import { describe, expect, it } from 'vitest';
import { byFile, ranBelow } from './trace.ts';

const at = (url: string, counts: Readonly<Record<string, number>>) => ({
  scriptId: url,
  url,
  functions: Object.entries(counts).map(([functionName, count], index) => ({
    functionName,
    ranges: [{ startOffset: index, endOffset: index + 1, count }],
  })),
});

describe('functions that ran', () => {
  it('are those of the repository that were called', () => {
    const ran = ranBelow('/repo', [
      at('file:///repo/gateway/app.ts', { called: 2, idle: 0, '': 1 }),
      at('file:///repo/node_modules/undici/index.js', { called: 1 }),
      at('file:///repository/app.ts', { called: 1 }),
      at('node:http', { called: 1 }),
    ]);
    expect(byFile(ran)).toEqual(new Map([['gateway/app.ts', ['called', 'anonymous']]]));
  });
});
