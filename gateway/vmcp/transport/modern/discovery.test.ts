import { describe, expect, it } from 'vitest';
import type { BackendFailure } from '../channel.ts';
import { refusesSessions, verdictOf, verdictOfFailure } from './discovery.ts';

const reply = (members: object): Buffer => Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, ...members }));
const error = (code: number): Buffer => reply({ error: { code, message: 'no' } });

describe('a reply to server/discover', () => {
  it('of the revision has the facts of the backend', () => {
    const result = {
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      instructions: 'i',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'n', version: '1' } },
    };
    expect(verdictOf(reply({ result }))).toEqual({
      era: 'modern',
      facts: {
        revision: '2026-07-28',
        capabilities: { tools: {} },
        serverInfo: { name: 'n', version: '1' },
        instructions: 'i',
        hasSession: false,
      },
    });
  });

  it.each([
    ['another revision', reply({ result: { supportedVersions: ['2025-11-25'] } }), 'legacy'],
    ['no revisions', reply({ result: {} }), 'legacy'],
    ['an unknown method', error(-32601), 'legacy'],
    ['an internal error', error(-32603), 'legacy'],
    ['another revision that it supports', error(-32022), 'retry'],
    ['a wrong header', error(-32020), 'retry'],
    ['a missing capability', error(-32021), 'retry'],
  ])('with %s', (_, message, era) => {
    expect(verdictOf(message).era).toBe(era);
  });

  it.each<[BackendFailure['kind'], number | undefined, string]>([
    ['refused', undefined, 'legacy'], // a plain 400 or 404
    ['refused', 405, 'legacy'],
    ['garbage', undefined, 'legacy'],
    ['refused', 429, 'unknown'],
    ['refused', 408, 'unknown'],
    ['refused', 407, 'unknown'],
    ['unauthenticated', 401, 'unknown'],
    ['unavailable', 503, 'unknown'],
    ['timeout', undefined, 'unknown'],
  ])('that is %s %s', (kind, status, era) => {
    const failure = { kind, detail: '', ...(status !== undefined && { status }) };
    expect(verdictOfFailure(failure).era).toBe(era);
  });
});

describe('a reply to initialize', () => {
  it.each([
    ['of a server of the revision that misses _meta', error(-32602), true],
    ['of one that does not know the method', error(-32601), true],
    ['of one that names its revisions', error(-32022), true],
    ['with a result', reply({ result: {} }), false],
  ])('%s', (_, message, isRefusal) => {
    expect(refusesSessions(message)).toBe(isRefusal);
  });
});
