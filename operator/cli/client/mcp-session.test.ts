import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { guardedFetch } from './mcp-session.ts';

async function serve(listener: RequestListener) {
  const requests: string[] = [];
  const server: Server = createServer((req, res) => {
    requests.push(`${req.method ?? ''} ${req.url ?? ''}`);
    listener(req, res);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { origin: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`, requests };
}

it('row 99: sends nothing to this machine for a server elsewhere, however its documents write it', async () => {
  const { origin, requests } = await serve((_, res) => res.end());
  const send = guardedFetch('https://mcp.example/mcp', undefined);
  const hosts = [
    '127.0.0.1',
    '127.9.9.9',
    'localhost',
    'LOCALHOST.',
    'a.localhost',
    '2130706433',
    '0x7f.1',
    '0',
    '[::1]',
  ];
  for (const host of [...hosts, '[::]', '[::ffff:127.0.0.1]', '[0:0:0:0:0:ffff:7f00:1]']) {
    const url = `${origin.replace('127.0.0.1', host)}/register`;
    await expect(send(url, { method: 'POST' })).rejects.toThrow('which is this machine');
  }
  expect(requests).toEqual([]);
});

it('row 99: sends nothing to the management API for a server on this machine, and follows no redirect to it', async () => {
  const management = await serve((_, res) => res.end());
  const server = await serve((_, res) => res.writeHead(307, { location: `${management.origin}/stop` }).end());
  const send = guardedFetch(`${server.origin}/mcp`, management.origin);
  expect((await send(`${server.origin}/mcp`, { method: 'POST' })).status).toBe(307);
  await expect(send(management.origin.replace('127.0.0.1', 'localhost'))).rejects.toThrow('which is this machine');
  expect(management.requests).toEqual([]);
});

it('follows a redirect at the same origin with the method, and no other', async () => {
  const server = await serve((req, res) => {
    if (req.url === '/old') res.writeHead(308, { location: '/new' }).end();
    else if (req.url === '/away') res.writeHead(302, { location: 'https://other.example/' }).end();
    else res.end('here');
  });
  const send = guardedFetch(`${server.origin}/old`, undefined);
  expect(await (await send(`${server.origin}/old`, { method: 'POST', body: '{}' })).text()).toBe('here');
  expect((await send(`${server.origin}/away`)).status).toBe(302);
  expect(server.requests).toEqual(['POST /old', 'POST /new', 'GET /away']);
});
