import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { usage } from '../bench/usage.ts';
import { openSession } from '../harness/clients/raw.ts';
import { entry, gatewayOver } from '../harness/manifests.ts';
import { testScope } from '../harness/scope.ts';
import { startVmcp } from '../harness/vmcp.ts';
import { startAttacker } from './attacker.ts';
import { measureBeside } from './healthy-load.ts';
import { startMcpServer } from './mcp-server.ts';
import { LIMIT_MB, limitMemory } from './memory-limit.ts';

/** `ATTACK_SECONDS=120` runs the long version, which also checks the latency of healthy calls. */
const SECONDS = Number(process.env['ATTACK_SECONDS'] ?? 5);
const IS_LONG = SECONDS >= 60;
const CLIENTS = 50;
/** A session has room for 256 long URIs: with fewer clients the first one is full in seconds. */
const SUBSCRIBERS = IS_LONG ? CLIENTS : 8;

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
    const [attacker, good] = [
      await startAttacker(scope, new URL('memory-attacker.ts', import.meta.url), IS_LONG),
      await startMcpServer(scope, 'good'),
    ];
    const vmcp = await startVmcp(scope, { files: gatewayOver([entry('bad', attacker.url), entry('good', good.url)]) });
    limitMemory(scope, vmcp);
    const session = await openSession(vmcp.url);
    await measureBeside(vmcp.pid, session, ['good_tool'], () => sleep(1_000));
    const alone = await measureBeside(vmcp.pid, session, ['good_tool'], () => sleep(SECONDS * 300));
    const startMb = usage(vmcp.pid)?.rssMb ?? 0;
    const beside = await measureBeside(vmcp.pid, session, ['good_tool'], async (): Promise<unknown> =>
      JSON.parse(await attacker.order(`${kind} ${String(clients)} ${String(SECONDS)} ${vmcp.url}`)),
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
