import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { heldBytes } from '../../gateway/bytes/testdata/held-bytes.ts';
import { usage } from '../bench/usage.ts';
import { startGatewayOver } from '../harness/authenticated-gateway.ts';
import type { Issuer } from '../harness/issuer.ts';
import { MCP_HEADERS, openSession, textOf } from '../harness/clients/raw.ts';
import { entry, gatewayOver } from '../harness/manifests.ts';
import { testScope, type Scope } from '../harness/scope.ts';
import { startVmcp } from '../harness/vmcp.ts';
import { startAttacker } from './attacker.ts';
import { startMcpServer } from './mcp-server.ts';

const MIB = 1024 * 1024;

const orderOf = (attack: string, connections: number, url: string, headers: object): string =>
  [attack, String(connections), url, JSON.stringify(headers)].join('\t');

/** Returns the most resident memory of a process while `work` runs, beyond that at its begin, in MiB. */
async function growth(pid: number, work: () => Promise<unknown>): Promise<number> {
  const before = usage(pid)?.rssMb ?? 0;
  let peak = before;
  const sampler = setInterval(() => (peak = Math.max(peak, usage(pid)?.rssMb ?? 0)), 20);
  await work().finally(() => {
    clearInterval(sampler);
  });
  return peak - before;
}

/** A gateway with a backend of the attacker and a good one, which is warm: its first calls are done. */
async function startGateway(scope: Scope) {
  const [attacker, good] = [
    await startAttacker(scope, new URL('small-pieces.ts', import.meta.url)),
    await startMcpServer(scope, 'good'),
  ];
  const vmcp = await startVmcp(scope, { files: gatewayOver([entry('bad', attacker.url), entry('good', good.url)]) });
  const session = await openSession(vmcp.url);
  scope.defer(() => {
    vmcp.signal('SIGKILL'); // it would wait for the attacker's calls
  });
  for (let call = 0; call < 200; call += 1) await session.call('good_tool', { text: 'healthy' });
  return { vmcp, attacker, session };
}

it.each([
  ['form', 100, 'of 60 KB'],
  ['call', 8, 'of 1 MB'],
])(
  'row 88: keeps the memory in bounds for bodies in one-byte chunks: %s, %i connections %s',
  async (kind, connections, _) => {
    const scope = testScope();
    const { vmcp, attacker, session } = await startGateway(scope);
    const grown = await growth(vmcp.pid, async () => {
      await attacker.order(orderOf(kind, connections, vmcp.url, session.headers));
      // the attacker has sent everything when the gateway has not read it yet; a call waits for a part of that
      for (let call = 0; call < 20; call += 1) {
        expect(textOf(await session.call('good_tool', { text: 'healthy' }))).toContain('healthy');
        await sleep(20);
      }
    });
    process.stdout.write(`${JSON.stringify({ kind, grownMb: grown })}\n`);
    expect(grown).toBeLessThan(150);
  },
);

it.each(['bad_lines', 'bad_chunks'])(
  'row 89: keeps the memory in bounds for replies in small pieces: %s',
  async (tool) => {
    const scope = testScope();
    const { vmcp, session } = await startGateway(scope);
    const grown = await growth(vmcp.pid, async () => {
      const calls = Array.from({ length: 20 }, () => session.call(tool, {}).catch(() => undefined));
      await Promise.race([Promise.all(calls), sleep(4_000)]);
    });
    process.stdout.write(`${JSON.stringify({ tool, grownMb: grown })}\n`);
    expect(grown).toBeLessThan(200);
  },
);

it.each([
  ['trickle', 'row 90'],
  ['refused', 'row 91'],
])('serves large calls beside 300 bodies, and after their clients are gone: %s (%s)', async (kind) => {
  const scope = testScope();
  const { vmcp, attacker, session } = await startGateway(scope);
  const large = { text: 'x'.repeat(2 * MIB - 7).concat('healthy') };
  const callLarge = async (): Promise<number> => {
    const start = performance.now();
    expect(textOf(await session.call('good_tool', large))).toContain('healthy');
    return performance.now() - start;
  };
  const alone = await callLarge();
  await attacker.order(orderOf(kind, 300, vmcp.url, { ...MCP_HEADERS, 'mcp-protocol-version': '2026-07-28' }));
  const beside = [await callLarge(), await callLarge()];
  await attacker.order('leave');
  const after = await callLarge();
  process.stdout.write(`${JSON.stringify({ kind, alone, beside, after })}\n`);
  for (const ms of [...beside, after]) expect(ms).toBeLessThan(3_000 + 10 * alone);
});

it('row 88: does not read bodies while their tokens are validated, and bounds what Node.js reads ahead', async () => {
  const scope = testScope();
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  scope.defer(() => {
    silent.closeAllConnections();
    silent.close();
  });
  const issuer = `http://127.0.0.1:${String((silent.address() as AddressInfo).port)}`;
  const { url } = await startGatewayOver(scope, { backends: [], issuer: { url: issuer } as Issuer });
  const attacker = await startAttacker(scope, new URL('small-pieces.ts', import.meta.url));
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { iss: issuer, aud: 'vmcp', sub: 'x', exp: Math.floor(Date.now() / 1_000) + 600 };
  const token = `${part({ alg: 'RS256', kid: 'k' })}.${part(claims)}.${'A'.repeat(342)}`;
  const before = heldBytes();
  await attacker.order(orderOf('form', 20, url, { ...MCP_HEADERS, authorization: `Bearer ${token}` }));
  await sleep(500);
  const held = (heldBytes() - before) / MIB;
  process.stdout.write(`${JSON.stringify({ kind: 'pending', held })}\n`);
  expect(held).toBeLessThan(20);
});
