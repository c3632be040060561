import { connect, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { raw } from '../harness/clients/raw.ts';
import { entry, gatewayOver } from '../harness/manifests.ts';
import { testScope, type Scope } from '../harness/scope.ts';
import { startVmcp } from '../harness/vmcp.ts';

const PROBES = 20;
const RECONNECTS_PER_S = 400;

/** Opens `count` connections that send nothing, then more until the scope ends. */
async function attack(scope: Scope, port: number, count: number): Promise<void> {
  const sockets = new Set<Socket>();
  const open = (): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', resolve);
      sockets.add(socket.resume());
      socket
        .on('error', () => {
          resolve();
        })
        .on('close', () => sockets.delete(socket));
    });
  for (let opened = 0; opened < count; opened += 100) await Promise.all(Array.from({ length: 100 }, open));
  const timer = setInterval(() => {
    for (let each = 0; each < RECONNECTS_PER_S / 20; each += 1) void open();
  }, 50);
  scope.defer(() => {
    clearInterval(timer);
    for (const socket of sockets) socket.destroy();
  });
}

async function statuses(url: string): Promise<number[]> {
  const found: number[] = [];
  for (let count = 0; count < PROBES; count += 1) {
    found.push(
      await raw(url, { timeoutMs: 1_000 }).then(
        ({ status }) => status,
        () => 0,
      ),
    ); // the limit of a probe
  }
  return found;
}

const answered = Array.from({ length: PROBES }, () => 200);
// nothing has to answer: the attack is on the listeners
const files = gatewayOver([entry('alpha', 'http://127.0.0.1:9/mcp')]);

it('row 92: probes of the public port are answered beside 12,000 silent connections', async () => {
  const scope = testScope();
  const vmcp = await startVmcp(scope, { files });
  await attack(scope, vmcp.port, 12_000);
  expect(await statuses(`${vmcp.origin}/health`)).toEqual(answered);
  expect(await statuses(`${vmcp.origin}/readyz`)).toEqual(answered);
});

it('row 92: metrics and status are served beside 300 silent connections', async () => {
  const scope = testScope();
  const vmcp = await startVmcp(scope, { files });
  await attack(scope, vmcp.managementPort, 300);
  expect(await statuses(`${vmcp.management}/metrics`)).toEqual(answered);
  expect(await statuses(`${vmcp.management}/status`)).toEqual(answered);
});
