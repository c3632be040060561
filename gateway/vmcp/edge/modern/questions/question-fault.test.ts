import { expect, it } from 'vitest';
import { questionFault } from './question-fault.ts';

const CLIENT = { offers: new Set(['elicitation', 'roots']), capabilities: '{"elicitation":{"form":{}},"roots":{}}' };
const faultOf = (result: object): unknown =>
  questionFault(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result })), CLIENT);

const form = { method: 'elicitation/create', params: { mode: 'form', message: 'm' } };
const page = { method: 'elicitation/create', params: { mode: 'url', message: 'm', url: 'https://a.example/' } };
const sampling = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } };
const tools = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1, tools: [] } };

it.each<[string, object, unknown]>([
  ['that the client can answer', { inputRequests: { a: form, b: { method: 'roots/list' } } }, undefined],
  ['of none, with a state', { requestState: 's' }, undefined],
  ['of none, without a state', { inputRequests: {} }, 'invalid'],
  ['of a mode that the client has not declared', { inputRequests: { a: page } }, { elicitation: { url: {} } }],
  ['of a capability that it has not declared', { inputRequests: { a: form, b: sampling } }, { sampling: {} }],
  [
    'that miss several capabilities',
    { inputRequests: { a: page, b: sampling, c: tools } },
    { elicitation: { url: {} }, sampling: { tools: {} } },
  ],
  ['of another method', { inputRequests: { a: { method: 'ping' } } }, 'invalid'],
  ['without a method', { inputRequests: { a: {} } }, 'invalid'],
  ['that are no objects', { inputRequests: { a: 'roots/list' } }, 'invalid'],
])('judges questions %s', (_, members, expected) => {
  expect(faultOf({ resultType: 'input_required', ...members })).toEqual(expected);
});
