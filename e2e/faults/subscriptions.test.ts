import { expect, it } from 'vitest';
import { startGatewayOver } from '../harness/authenticated-gateway.ts';
import { openSession } from '../harness/clients/raw.ts';
import { testScope, type Scope } from '../harness/scope.ts';
import { startMcpServer } from './mcp-server.ts';

const startBackend = (scope: Scope) =>
  startMcpServer(scope, 'good', {
    capabilities: { tools: {}, resources: { subscribe: true } },
    methods: {
      'resources/list': ({ result }) => {
        result({ resources: [] });
      },
      'resources/templates/list': ({ result }) => {
        result({ resourceTemplates: [{ uriTemplate: 'x://{+path}', name: 'any' }] });
      },
      'resources/subscribe': ({ message, result, error }) => {
        if (String(message.params?.['uri']).endsWith('refused')) error(-32602, 'no such resource');
        else result({});
      },
      'resources/unsubscribe': ({ result }) => {
        result({});
      },
    },
  });

it('removes subscriptions that the backend rejected, that ended, or whose backend was removed', async () => {
  const scope = testScope();
  const { url } = await startBackend(scope);
  const good = {
    name: 'good',
    transport: 'streamable-http' as const,
    url,
    insecure_allow_http: true,
    allow_private_ips: true,
  };
  const gateway = await startGatewayOver(scope, { backends: [good] });
  const session = await openSession(gateway.url);
  await session.tools();
  const send = (method: string, uri: string) => session.request(`resources/${method}`, { uri });
  const each = async (method: string, suffix = ''): Promise<unknown[]> => {
    const found = new Set<unknown>();
    for (let turn = 0; turn < 1_000; turn += 1)
      found.add((await send(method, `x://${String(turn)}${suffix}`)).error?.message);
    return [...found];
  };
  expect(await each('subscribe', 'refused')).toEqual(['no such resource']);
  expect(await each('subscribe')).toEqual([undefined]);
  expect((await send('subscribe', 'x://more')).error?.message).toContain('unsubscribe');
  await send('unsubscribe', 'x://7');
  expect((await send('subscribe', 'x://more')).error).toBeUndefined();
  expect((await send('subscribe', 'x://one-more')).error?.message).toContain('unsubscribe');
  await gateway.swap({ backends: [] });
  await gateway.swap({ backends: [good] });
  await expect.poll(async () => (await send('subscribe', 'x://one-more')).error?.message).toBeUndefined();
});
