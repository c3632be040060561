import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { copySources, type SourceCopy } from '../../e2e/harness/source-copy.ts';

let copy: SourceCopy;

/** Copies the sources and adds a policy: one file and one line in the registry. */
beforeAll(async () => {
  copy = await copySources(['gateway']);
  const [before, after] = ['export const POLICIES = [', 'export const POLICIES = [toyPolicy, '];
  await copy.register('gateway/policy', 'toy-policy.ts', 'toyPolicy', before, after);
  await copy.add('gateway/policy', 'call-through-gateway.ts');
});
afterAll(() => copy.remove());

it('runs a policy that is one file and one line in the registry', async () => {
  const script = join('gateway', 'policy', 'call-through-gateway.ts');
  const { code, stdout, stderr } = await copy.node(script);
  expect(code, stderr).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    problems: ['runtime_config.builder_image'],
    list: expect.objectContaining({ result: { tools: [expect.objectContaining({ name: 'shop_buy' })] } }),
    buy: { status: 200, body: { jsonrpc: '2.0', id: 1, result: { content: [] } } },
    sell: {
      status: 200,
      body: {
        jsonrpc: '2.0',
        id: 1,
        error: { code: -32003, message: 'the tool shop_sell is denied', data: { reason: 'toy' } },
      },
    },
  });
});
