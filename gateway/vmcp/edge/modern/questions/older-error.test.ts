import { expect, it } from 'vitest';
import { scanBackendEnvelope } from '../../../../http/json-scan.ts';
import { withoutUrlError } from './older-error.ts';

const page = { mode: 'url', elicitationId: 'e-1', url: 'https://a.example/?x=1', message: 'Sign in' };

function replaced(data: unknown, method = 'tools/call', elicitation: object | null = { url: {} }): unknown {
  const error = { code: -32042, message: 'sign in first', data };
  const message = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, error }));
  const span = scanBackendEnvelope(message).error ?? { start: 0, end: 0 };
  const offers = new Set(elicitation ? ['elicitation'] : []);
  const found = withoutUrlError(message, span, method, { offers, capabilities: JSON.stringify({ elicitation }) });
  return found.kind === 'result' ? (JSON.parse(found.text) as unknown) : found;
}

it('becomes a result that asks for every URL, without the id of older revisions', () => {
  const params = { mode: 'url', url: page.url, message: page.message };
  const asked = { method: 'elicitation/create', params };
  expect(replaced({ elicitations: [page, { ...page, elicitationId: 'e-2' }] })).toEqual({
    resultType: 'input_required',
    inputRequests: { 'url-1': asked, 'url-2': asked },
  });
});

it('names the capability that the client has not declared', () => {
  const capabilities = { elicitation: { url: {} } };
  expect(replaced({ elicitations: [page] }, 'tools/call', { form: {} })).toEqual({ kind: 'missing', capabilities });
  expect(replaced({ elicitations: [page] }, 'tools/call', null)).toEqual({ kind: 'missing', capabilities });
});

it.each([
  ['without URLs', undefined, 'tools/call'],
  ['with URLs that cannot be read', { elicitations: [{}, 7] }, 'tools/call'],
  ['of a method whose result cannot ask', { elicitations: [page] }, 'completion/complete'],
])('stays an error %s', (_, data, method) => {
  expect(replaced(data, method)).toEqual({ kind: 'error', message: 'sign in first', data });
});
