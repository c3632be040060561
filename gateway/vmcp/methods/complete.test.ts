import { describe, expect, it } from 'vitest';
import { serverWith } from '../calls/testdata/policed-server.ts';

const COMPLETIONS = { values: ['warm'], hasMore: false };
const PARAMS = { ref: { type: 'ref/prompt', name: 'shop_greet' }, argument: { name: 'tone', value: 'w' } };

/** Returns the answer to a completion over a backend of this revision, which declares no completions. */
async function completed(protocolVersion: string, reply: object) {
  const serverInfo = { name: 'shop', version: '1' };
  const result = { protocolVersion, capabilities: { tools: {}, prompts: {} }, serverInfo };
  const { read, received } = await serverWith({ initialize: { result }, 'completion/complete': reply });
  return { answer: await read('completion/complete', PARAMS), received };
}

describe('a backend that declares no completions', () => {
  it('is asked in 2024-11-05, which has no capability for them', async () => {
    const { answer } = await completed('2024-11-05', { result: { completion: COMPLETIONS } });
    expect(answer).toMatchObject({ id: 1, result: { completion: COMPLETIONS } });
  });

  it('completes nothing when it does not know the method', async () => {
    const { answer, received } = await completed('2024-11-05', { error: { code: -32601, message: 'unknown' } });
    expect(answer).toEqual({ jsonrpc: '2.0', id: 1, result: { completion: { values: [], total: 0, hasMore: false } } });
    expect(received).toContain('completion/complete');
  });

  it('keeps its other errors', async () => {
    const { answer } = await completed('2024-11-05', { error: { code: -32602, message: 'no such argument' } });
    expect(answer).toMatchObject({ id: 1, error: { code: -32602, message: 'no such argument' } });
  });

  it('is not asked in later revisions', async () => {
    const { answer, received } = await completed('2025-03-26', { result: { completion: COMPLETIONS } });
    expect(answer).toMatchObject({ result: { completion: { values: [] } } });
    expect(received).not.toContain('completion/complete');
  });
});
