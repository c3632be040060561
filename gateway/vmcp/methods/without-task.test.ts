import { expect, it } from 'vitest';
import { policedServer } from '../calls/testdata/policed-server.ts';

it.each([
  [
    'first',
    '{ "task" : {"ttl":5} , "name":"shop_buy","arguments":{"task":1}}',
    '{ "name":"buy","arguments":{"task":1}}',
  ],
  ['between', '{"name":"shop_buy","task":{},"arguments":{"task":1}}', '{"name":"buy","arguments":{"task":1}}'],
  ['last', '{"arguments":{"n":1.0}, "name":"shop_buy", "task":{"ttl":5} }', '{"arguments":{"n":1.0}, "name":"buy" }'],
  ['no object', '{"name":"shop_buy","task":null}', '{"name":"buy"}'],
])('a call that asks for a task runs without one: %s', async (_name, params, expected) => {
  const { send, bodies } = await policedServer();
  expect((await send('tools/call', params)).status).toBe(200);
  expect(bodies.at(-1)).toContain(`"params":${expected}`);
});
