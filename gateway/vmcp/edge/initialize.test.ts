import { expect, it } from 'vitest';
import { scanEnvelope } from '../../http/json-scan.ts';
import { readClientFacts } from './initialize.ts';

function facts(params: unknown) {
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }));
  return readClientFacts(body, scanEnvelope(body));
}

it('negotiates a supported revision, else the newest', () => {
  expect(facts({ protocolVersion: '2025-03-26' })?.revision).toBe('2025-03-26');
  expect(facts({ protocolVersion: '2099-01-01' })?.revision).toBe('2025-11-25');
  expect(facts({ protocolVersion: 5 })).toBeUndefined();
});

it('keeps the capabilities that are declared to backends and no others', () => {
  const read = facts({ protocolVersion: '2025-11-25', capabilities: { elicitation: {}, toString: 1, huge: ['x'] } });
  expect(read?.capabilities).toBe('{"elicitation":{}}');
  expect([...(read?.offers ?? [])]).toEqual(['elicitation']);
});

it('rejects capabilities that are too long to store per session', () => {
  const capabilities = { sampling: { x: 'x'.repeat(20_000) } };
  expect(() => facts({ protocolVersion: '2025-11-25', capabilities })).toThrow('"capabilities" are longer than');
});

it('reads name and version of the client, truncated to 128 characters', () => {
  const clientInfo = { name: 'shell', version: '1'.repeat(200), title: 'Shell' };
  expect(facts({ protocolVersion: '2025-11-25', clientInfo })?.client).toEqual({
    name: 'shell',
    version: '1'.repeat(128),
  });
  expect(facts({ protocolVersion: '2025-11-25', clientInfo: 7 })?.client).toEqual({ name: '', version: '' });
});
