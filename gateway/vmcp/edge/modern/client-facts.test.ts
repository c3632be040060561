import { expect, it } from 'vitest';
import { scanEnvelope } from '../../../http/json-scan.ts';
import { clientOf } from './client-facts.ts';
import { readMeta } from './request-meta.ts';

const factsOf = (members: object) => {
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'm', params: { _meta: members } }));
  const meta = readMeta(body, scanEnvelope(body).surface);
  return meta && clientOf(meta).facts;
};

const claim = (name: string, capabilities: object = {}) => ({
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name, version: '1' },
  'io.modelcontextprotocol/clientCapabilities': capabilities,
});

it('are the same object for the requests of one client, whatever else they hold', () => {
  const facts = factsOf(claim('c'));
  expect(facts).toMatchObject({ client: { name: 'c' }, capabilities: '{}' });
  expect(factsOf({ progressToken: 1, ...claim('c') })).toBe(facts);
  expect(factsOf({ ...claim('c'), progressToken: 2, traceparent: '00-1-2-01' })).toBe(facts);
});

it('differ for another client, and for other capabilities', () => {
  const facts = factsOf({ progressToken: 1, ...claim('c') });
  expect(factsOf({ progressToken: 1, ...claim('d') })).not.toBe(facts);
  expect(factsOf({ progressToken: 1, ...claim('c', { elicitation: {} }) })).toMatchObject({
    offers: new Set(['elicitation']),
  });
});
