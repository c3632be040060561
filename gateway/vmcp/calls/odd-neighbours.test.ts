import { describe, expect, it } from 'vitest';
import type { Policy } from '../../policy/policy.ts';
import { serverWith } from './testdata/policed-server.ts';

const LISTED = 'file:///my notes';
const REWRITTEN = 'file:///my%20notes';

describe('a client that rewrites the URIs of a list', () => {
  const list = { 'resources/list': { result: { resources: [{ uri: LISTED, name: 'notes' }] } } };

  it('reads, subscribes to and unsubscribes from the listed resource, which policies judge', async () => {
    const judged: string[] = [];
    const policy: Policy = {
      decide: ({ method, name }) => {
        judged.push(`${method} ${name}`);
        return { verdict: 'allow' };
      },
    };
    const { read, bodies, virtual } = await serverWith(list, [policy]);
    const requests = ['resources/read', 'resources/subscribe', 'resources/unsubscribe'];
    for (const method of requests) expect(await read(method, { uri: REWRITTEN })).toMatchObject({ result: {} });
    expect(judged).toEqual(requests.map((method) => `${method} ${LISTED}`));
    for (const method of requests)
      expect(bodies.some((body) => body.includes(`"${method}"`) && body.includes(`"uri":"${LISTED}"`))).toBe(true);
    expect(bodies.join('')).not.toContain(REWRITTEN);
    expect([...virtual.sessions.all()][0]?.subscriptions.has(LISTED)).toBe(false);
  });

  it('is denied what a policy denies for the listed URI', async () => {
    const policy: Policy = {
      decide: ({ name }) =>
        name === LISTED ? { verdict: 'deny', reason: 'no', message: 'not this one' } : { verdict: 'allow' },
    };
    const { read } = await serverWith(list, [policy]);
    expect(await read('resources/read', { uri: REWRITTEN })).toMatchObject({ error: { message: 'not this one' } });
  });
});

describe('an odd result', () => {
  it('is repaired, and its backend, item and member are a problem once', async () => {
    const result = { content: [{ type: 'text', text: 'x', annotations: { priority: 2 } }], structuredContent: null };
    const { read, virtual } = await serverWith({ 'tools/call': { result } });
    for (let call = 0; call < 2; call += 1)
      expect(await read('tools/call', { name: 'shop_buy', arguments: {} })).toMatchObject({
        result: { content: [{ type: 'text', text: 'x', annotations: {} }] },
      });
    expect(virtual.fleet.repairedReplies()).toEqual([
      {
        reason: 'ResultRepaired',
        backend: 'shop',
        message:
          '"content[].annotations.priority" of results of "shop" is no number from 0 to 1 and is left out: "shop_buy"',
      },
      {
        reason: 'ResultRepaired',
        backend: 'shop',
        message: '"structuredContent" of results of "shop" is null and is left out: "shop_buy"',
      },
    ]);
  });
});
