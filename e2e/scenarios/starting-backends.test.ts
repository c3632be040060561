import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openSession } from '../harness/clients/raw.ts';
import { group, server, virtualServer, yaml } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { testScope } from '../harness/scope.ts';
import { runVmcp, startVmcp, temporaryFolder, within } from '../harness/vmcp.ts';

/** Delays every script of the process by more than the time after which an answer counts as slow. */
const SLOW_START = {
  name: 'NODE_OPTIONS',
  value: '--import=data:text/javascript,await(new(Promise)(r=>setTimeout(r,6000)))',
};
const HTTP = 'npx://@modelcontextprotocol/server-everything';

interface HealthDocument {
  readonly summary: Readonly<Record<string, number>>;
  readonly backends: Readonly<Record<string, { readonly status: string; readonly reason: string | null }>>;
}

it('shows slow servers as starting and warns about none of them', async () => {
  const files = {
    'all.yaml': yaml(
      group(),
      virtualServer(),
      server('child', 'npx://@modelcontextprotocol/server-memory', { env: [SLOW_START] }),
      server('listener', HTTP, { env: [SLOW_START], args: ['streamableHttp'], transport: 'streamable-http' }),
    ),
  };
  const vmcp = await startVmcp(testScope(), { files });
  const health = async () => (await (await fetch(`${vmcp.management}/api/backends/health`)).json()) as HealthDocument;
  const starting = { status: 'starting', reason: 'it was started and has not answered yet' };
  await eventually('both servers are starting', async () => (await health()).summary['starting'] === 2);
  expect((await health()).backends).toMatchObject({ child: starting, listener: starting });
  const status = (await (await fetch(`${vmcp.management}/status`)).json()) as { backends: object[] };
  expect(status.backends).toMatchObject([
    { name: 'child', health: 'starting', reason: starting.reason },
    { name: 'listener', health: 'starting', reason: starting.reason },
  ]);
  const allHealthy = async () => (await health()).summary['healthy'] === 2;
  await eventually('both servers are healthy', allHealthy, { timeoutMs: 60_000 });
  expect((await health()).backends).toMatchObject({ child: { reason: null }, listener: { reason: null } });
  expect(
    vmcp
      .output()
      .split('\n')
      .filter((line) => line.includes('"level":"warn"')),
  ).toEqual([]);
});

it('vmcp call waits for a server that is starting', async () => {
  const scope = testScope();
  const gate = join(await temporaryFolder(scope), 'open');
  const wait = `while(!process.getBuiltinModule('fs').existsSync('${gate}'))await(new(Promise)(r=>setTimeout(r,100)))`;
  const env = [{ name: 'NODE_OPTIONS', value: `--import=data:text/javascript,${encodeURIComponent(wait)}` }];
  const operational = { failureHandling: { healthCheckTimeout: '1s' } };
  const files = {
    'all.yaml': yaml(
      group(),
      virtualServer({ operational }),
      server('child', 'npx://@modelcontextprotocol/server-memory', { env }),
    ),
  };
  const vmcp = await startVmcp(scope, { files });
  const call = await runVmcp(scope, ['call', 'child_read_graph', '--state', vmcp.state]);
  const waiting = 'waiting for child, not ready yet (Ctrl-C stops)\n';
  await eventually('the command waits', () => call.stderr() === waiting, { timeoutMs: 30_000 });
  await writeFile(gate, '');
  const { code } = await call.exited;
  expect({ code, stderr: call.stderr() }).toEqual({ code: 0, stderr: waiting });
  expect(call.stdout()).toContain('entities');
});

it('SIGTERM answers a list that waits for a server that is starting, and ends', async () => {
  const env = [{ name: 'NODE_OPTIONS', value: SLOW_START.value.replace('6000', '60000') }];
  const files = {
    'all.yaml': yaml(group(), virtualServer(), server('child', 'npx://@modelcontextprotocol/server-memory', { env })),
  };
  const vmcp = await startVmcp(testScope(), { files });
  const session = await openSession(vmcp.url);
  const call = session.tools().catch(String);
  expect(await Promise.race([call, sleep(500, 'waits')])).toBe('waits');
  vmcp.signal('SIGTERM');
  await within(vmcp.exited, 5_000, () => `vmcp does not end:\n${vmcp.output()}`);
  await call;
});
