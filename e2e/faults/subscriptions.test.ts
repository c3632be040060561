import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { usage } from '../bench/usage.ts';
import { startGatewayOver } from '../harness/authenticated-gateway.ts';
import { openSession } from '../harness/clients/raw.ts';
import { entry, gatewayOver } from '../harness/manifests.ts';
import { testScope, type Scope } from '../harness/scope.ts';
import { startVmcp } from '../harness/vmcp.ts';
import { measureBeside } from './healthy-load.ts';
import { startMcpServer } from './mcp-server.ts';

/** `ATTACK_SECONDS=120` runs the long version, which also checks the latency of healthy calls. */
const SECONDS = Number(process.env['ATTACK_SECONDS'] ?? 4);
const CLIENTS = SECONDS < 60 ? 10 : 50;
/** Pause of each client between two requests: the attack is on memory, not CPU. */
const PAUSE_MS = SECONDS < 60 ? 0 : 100;
/** Memory limit of a gateway pod. */
const LIMIT_MB = 768;
const CGROUPS = '/sys/fs/cgroup/memory';
const URI = `x://${'a'.repeat(2_000)}`;

/**
 * Makes the kernel kill a process above the limit if cgroup v1 is writable; otherwise the test only measures. Called before
 * the process starts, so that its group is removed after its end.
 */
function memoryLimit(scope: Scope): (pid: number) => void {
  const folder = `${CGROUPS}/vmcp-subscriptions-${String(process.pid)}`;
  try {
    mkdirSync(folder);
  } catch {
    return () => undefined;
  }
  scope.defer(async () => {
    while (readFileSync(`${folder}/cgroup.procs`, 'utf8') !== '') await sleep(50);
    rmdirSync(folder);
  });
  return (pid) => {
    writeFileSync(`${folder}/memory.limit_in_bytes`, String(LIMIT_MB * 1024 * 1024));
    writeFileSync(`${folder}/cgroup.procs`, String(pid));
  };
}

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

/** Accepted and rejected subscriptions. */
interface Counts {
  taken: number;
  refused: number;
}

async function attack(url: string, until: number, counts: Counts): Promise<void> {
  let session = await openSession(url);
  for (let turn = 0; performance.now() < until || counts.refused === 0; turn += 1) {
    const { error } = await session.request('resources/subscribe', { uri: `${URI}${String(turn)}` });
    if (error) counts.refused += 1;
    else counts.taken += 1;
    if (error?.code === -32602) session = await openSession(url);
    expect(error?.message ?? 'unsubscribe').toContain('unsubscribe');
    if (PAUSE_MS > 0) await sleep(PAUSE_MS);
  }
}

const refusals = async (management: string): Promise<number> => {
  const metrics = await (await fetch(`${management}/metrics`)).text();
  return Number(/^vmcp_budget_refusals_total\{.*budget="subscriptions"\} (\d+)$/mu.exec(metrics)?.[1] ?? 0);
};

it(
  `stays below ${String(LIMIT_MB)} MiB when ${String(CLIENTS)} clients subscribe to long URIs in ever new sessions`,
  async () => {
    const scope = testScope();
    const good = await startBackend(scope);
    const limit = memoryLimit(scope);
    const vmcp = await startVmcp(scope, { files: gatewayOver([entry('good', good.url)]) });
    limit(vmcp.pid);
    const session = await openSession(vmcp.url);
    await session.tools();
    await measureBeside(vmcp.pid, session, ['good_tool'], () => sleep(500));
    const alone = await measureBeside(vmcp.pid, session, ['good_tool'], () => sleep(SECONDS * 250));
    const startMb = usage(vmcp.pid)?.rssMb ?? 0;
    const counts: Counts = { taken: 0, refused: 0 };
    const until = performance.now() + SECONDS * 1_000;
    const attackers = Array.from({ length: CLIENTS }, () => () => attack(vmcp.url, until, counts));
    const beside = await measureBeside(vmcp.pid, session, ['good_tool'], () =>
      Promise.all(attackers.map((run) => run())),
    );
    const peakMb = startMb + beside.grownMb;
    const figures = { seconds: SECONDS, ...counts, startMb, peakMb, alone: alone.p99Ms, beside: beside.p99Ms };
    process.stdout.write(`${JSON.stringify(figures)}\n`);
    expect(vmcp.running()).toBe(true);
    expect(beside.wrong).toEqual([]);
    expect(peakMb).toBeLessThan(LIMIT_MB);
    expect(counts.refused).toBeGreaterThan(0);
    expect(await refusals(vmcp.management)).toBe(counts.refused);
    if (SECONDS >= 60) expect(beside.p99Ms).toBeLessThan(2 * alone.p99Ms);
  },
  60_000 + SECONDS * 2_000,
);

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
