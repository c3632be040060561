import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { freePort } from '../../../../e2e/harness/free-port.ts';
import { createEgressProxy } from '../egress/proxy.ts';
import { createIngress } from '../ingress.ts';
import { RELAY_PATHS, RELAY_PROGRAM } from './program.ts';
import { openRelaySockets } from './sockets.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** Starts the relay as a process of this machine, with a proxy for `names`, each an address of this machine. */
async function startRelay(names: Readonly<Record<string, string>> = {}) {
  // A long path: that of a Unix socket has at most 107 bytes.
  const folder = mkdtempSync(join(tmpdir(), `vmcp-relay-${'x'.repeat(100)}-`));
  const refused: string[] = [];
  const egress = createEgressProxy({
    isolation: { allow_hosts: Object.keys(names), allow_container_gateway: true },
    lookup: (host) => Promise.resolve([{ address: names[host] ?? '', family: 4 }]),
    ownAddresses: () => ['127.0.0.1'],
    onRefused: (message) => refused.push(message),
  });
  const sockets = await openRelaySockets(join(folder, 'sockets'), egress);
  const proxyPort = await freePort();
  const program = RELAY_PROGRAM.replaceAll(RELAY_PATHS.sockets, join(folder, 'sockets'));
  // The relay sees a short path in its container; here it follows the long one from its working directory.
  const relative = program.replaceAll(join(folder, 'sockets'), 'sockets');
  const relay = spawn(process.execPath, ['-e', relative, String(proxyPort)], { cwd: folder, stdio: 'inherit' });
  cleanups.push(() => {
    sockets.close();
    relay.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  await sockets.ready;
  return { sockets, relay, proxyPort, refused };
}

describe.runIf(process.platform === 'linux')('the relay', () => {
  it('forwards many connections to the server, with half-close', async () => {
    const { sockets } = await startRelay();
    const port = await listen(createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)));
    const replies = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const socket = await sockets.connect(port);
        socket.end(`hello ${index}`);
        return text(socket);
      }),
    );
    expect(replies).toEqual(replies.map((_, index) => `hello ${index}`));
  });

  it('reports at once that nothing listens', async () => {
    const { sockets } = await startRelay();
    await expect(sockets.connect(1)).rejects.toThrow('nothing listens on port 1 of the container');
  });

  it('ends when vmcp ends, and vmcp notices its end', async () => {
    const one = await startRelay();
    one.sockets.close();
    await once(one.relay, 'exit');
    const other = await startRelay();
    other.relay.kill('SIGKILL');
    await other.sockets.lost;
  });

  it('has at most 512 connections to the server, and says so (row 111)', async () => {
    const { sockets } = await startRelay();
    const port = await listen(createServer((socket) => socket.resume()));
    const open = await Promise.all(Array.from({ length: 512 }, () => sockets.connect(port)));
    await expect(sockets.connect(port)).rejects.toThrow('the container has 512 connections: try again later');
    const ingress = createIngress({ connect: () => sockets.connect(port) });
    const reply = await fetch(`http://127.0.0.1:${String(await listen(ingress))}/`);
    expect([reply.status, await reply.text()]).toEqual([503, expect.stringContaining('try again later')]);
    open[0]?.destroy();
    await expect.poll(() => sockets.connect(port).then(() => 'open', String)).toBe('open');
  });

  it('keeps few connections that a program in its place opens (row 111)', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'vmcp-relay-'));
    const sockets = await openRelaySockets(join(folder, 'sockets'));
    cleanups.push(() => {
      sockets.close();
      rmSync(folder, { recursive: true, force: true });
    });
    let open = 0;
    for (let count = 0; count < 100; count += 1) {
      const socket = connect(join(folder, 'sockets', 'inbound'));
      socket.resume().once('connect', () => (open += 1));
      socket.once('close', () => (open -= 1));
    }
    await sockets.ready;
    await expect.poll(() => open).toBe(4);
  });

  it('connects clients to allowed names, which vmcp resolves', async () => {
    const { proxyPort, refused } = await startRelay({
      'api.example.com': '127.0.0.1',
      'bad.example.com': '169.254.1.1',
    });
    const port = await listen(createServer((socket) => socket.end('reply')));
    const tunnel = (authority: string): Promise<string> =>
      new Promise((resolve, reject) => {
        request({ port: proxyPort, host: '127.0.0.1', method: 'CONNECT', path: authority })
          .once('connect', (reply, socket, head) => {
            socket.unshift(head);
            if (reply.statusCode === 200) resolve(text(socket));
            else resolve(String(reply.statusCode));
          })
          .once('error', reject)
          .end();
      });
    expect(await tunnel(`API.example.com:${port}`)).toBe('reply');
    expect(await tunnel(`other.example.com:${port}`)).toBe('403');
    expect(await tunnel(`bad.example.com:${port}`)).toBe('403');
    expect(await tunnel('api.example.com:1')).toBe('502');
    expect(refused).toEqual([
      `connections to other.example.com:${port} are not allowed: the permission profile does not allow it`,
      `connections to bad.example.com:${port} are not allowed: it has a link-local, metadata, multicast or reserved address`,
    ]);
  });

  it('rejects requests that are not for a proxy', async () => {
    const { proxyPort } = await startRelay();
    for (const line of ['GET / HTTP/1.1', 'GET https://example.com/ HTTP/1.1', 'CONNECT example.com HTTP/1.1']) {
      const socket = connect(proxyPort, '127.0.0.1');
      socket.write(`${line}\r\nhost: x\r\n\r\n`);
      expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /u);
    }
  });
});
