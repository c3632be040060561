import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { usage } from '../bench/usage.ts';
import { openSession } from '../harness/clients/raw.ts';
import { entry, gatewayOver } from '../harness/manifests.ts';
import { testScope, type Scope } from '../harness/scope.ts';
import { startVmcp } from '../harness/vmcp.ts';
import { measureBeside } from './healthy-load.ts';
import { startMcpServer } from './mcp-server.ts';
import { LIMIT_MB, limitMemory } from './memory-limit.ts';

/** `ATTACK_SECONDS=120` runs the long version, which also checks the latency of healthy calls. */
const SECONDS = Number(process.env['ATTACK_SECONDS'] ?? 5);
const IS_LONG = SECONDS >= 60;
const CLIENTS = 50;
/** A session has room for 256 long URIs: with fewer clients the first one is full in seconds. */
const SUBSCRIBERS = IS_LONG ? CLIENTS : 8;
async function startAttacker(scope: Scope) {
  const child = spawn(process.execPath, [new URL('memory-attacker.ts', import.meta.url).pathname], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  scope.defer(() => void child.kill('SIGKILL'));
  // An attacker is on another machine, so it takes no CPU from the calls whose latency the long version checks. In the
  // short version other test files are beside it, and at low priority it would get no CPU at all.
  if (IS_LONG) setPriority(child.pid ?? 0, constants.priority.PRIORITY_LOW);
  const lines = createInterface({ input: child.stdout });
  const next = async (): Promise<string> => String((await once(lines, 'line'))[0]);
  const port = await next();
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    attack: async (kind: string, clients: number, url: string): Promise<unknown> => {
      child.stdin.write(`${kind} ${String(clients)} ${String(SECONDS)} ${url}\n`);
      return JSON.parse(await next());
    },
  };
}

/** Returns the number of rejected requests by budget. */
async function refusals(management: string): Promise<Record<string, number>> {
  const metrics = await (await fetch(`${management}/metrics`)).text();
  const found = metrics.matchAll(/^vmcp_budget_refusals_total\{.*budget="(\w+)"\} (\d+)$/gmu);
  return Object.fromEntries([...found].map(([, budget = '', value]) => [budget, Number(value)]));
}

it.each([
  [CLIENTS, '8 MiB of arguments for a slow tool, hung up on', 'uploads', 'request_bytes'],
  [CLIENTS, 'replies of 32 MiB that nobody reads', 'unread', 'reply_bytes'],
  [SUBSCRIBERS, 'subscriptions to long URIs in ever new sessions', 'subscriptions', 'subscriptions'],
])(
  `stays below ${String(LIMIT_MB)} MiB when %i clients repeat: %s`,
  async (clients, _, kind, budget) => {
    const scope = testScope();
    const [attacker, good] = [await startAttacker(scope), await startMcpServer(scope, 'good')];
    const vmcp = await startVmcp(scope, { files: gatewayOver([entry('bad', attacker.url), entry('good', good.url)]) });
    limitMemory(scope, vmcp);
    const session = await openSession(vmcp.url);
    await measureBeside(vmcp.pid, session, ['good_tool'], () => sleep(1_000));
    const alone = await measureBeside(vmcp.pid, session, ['good_tool'], () => sleep(SECONDS * 300));
    const startMb = usage(vmcp.pid)?.rssMb ?? 0;
    const beside = await measureBeside(vmcp.pid, session, ['good_tool'], () =>
      attacker.attack(kind, clients, vmcp.url),
    );
    const refused = await refusals(vmcp.management);
    const figures = { kind, seconds: SECONDS, startMb, peakMb: startMb + beside.grownMb, refused, seen: beside.value };
    process.stdout.write(`${JSON.stringify({ ...figures, aloneP99: alone.p99Ms, besideP99: beside.p99Ms })}\n`);
    expect(vmcp.running()).toBe(true);
    expect(beside.wrong).toEqual([]);
    expect(figures.peakMb).toBeLessThan(LIMIT_MB);
    expect(refused[budget]).toBeGreaterThan(0);
    if (IS_LONG) expect(beside.p99Ms).toBeLessThan(2 * alone.p99Ms);
  },
  120_000 + SECONDS * 2_000,
);
