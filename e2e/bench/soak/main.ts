/**
 * `make soak`: mixed load on the built gateway for `--minutes`, and the slope of its heap after garbage
 * collection. Prints every reading to stderr and the result to stdout. Exit code 1: a call failed or the slope is too steep.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { request } from 'undici';
import type { GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import { startBackends } from '../contenders.ts';
import { builtCli, until, writeConfig } from '../gateway.ts';
import { toolNames, openSession } from '../mcp.ts';
import { endAll, freePorts, start, startScript } from '../processes.ts';
import { heapAfterGc } from './heap.ts';
import { settled, slopePerHour, type Reading } from './slope.ts';
import { usage } from '../usage.ts';

const TARGET_MIB_PER_HOUR = 1;
/** First part of the run that is not counted: abandoned sessions begin to expire in it. */
const WARM_UP = 0.2;
const SESSION_TTL = '10s';
const NO_SESSION_WITHIN_MS = 90_000;
const MIB = 1024 * 1024;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    slice: { type: 'string', default: '20' },
    pause: { type: 'string', default: '2' },
    workers: { type: 'string', default: '8' },
  },
});
const numbers = Object.entries(values).map(([flag, value]): [string, number] => [flag, Number(value)]);
for (const [flag, number] of numbers) {
  if (number > 0) continue;
  process.stderr.write(`--${flag} takes a number above 0\n`);
  process.exit(2);
}
const { minutes = 0, slice = 0, pause = 0, workers = 0 } = Object.fromEntries(numbers);
const root = resolve(import.meta.dirname, '../../..');
const folder = mkdtempSync(join(tmpdir(), 'vmcp-soak-'));
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void endAll().finally(() => {
      rmSync(folder, { recursive: true, force: true });
      process.exit(1);
    });
  });
}

interface Soaked {
  readonly pid: number;
  readonly url: string;
  readonly inspectorPort: number;
  readonly managementUrl: string;
}

/** Starts a gateway with a short session timeout, so that abandoned sessions expire during the run. */
async function startSoaked(backends: readonly { name: string; url: string }[]): Promise<Soaked> {
  const file = writeConfig(folder, backends);
  const config = JSON.parse(readFileSync(file, 'utf8')) as GatewayConfig;
  writeFileSync(file, JSON.stringify({ ...config, vmcp: { ...config.vmcp, session_ttl: SESSION_TTL } }));
  const [port = 0, managementPort = 0, inspectorPort = 0] = await freePorts(3);
  const listen = ['--host', '127.0.0.1', '--port', String(port), '--management-port', String(managementPort)];
  const inspect = `--inspect=127.0.0.1:${String(inspectorPort)}`;
  const child = start('vmcp gateway', [inspect, builtCli(root), 'gateway', '--config', file, ...listen]);
  await until(child, async () => {
    const reply = await request(`http://127.0.0.1:${String(port)}/readyz`);
    await reply.body.dump();
    return reply.statusCode === 200;
  });
  const managementUrl = `http://127.0.0.1:${String(managementPort)}`;
  return { pid: child.pid, url: `http://127.0.0.1:${String(port)}/mcp`, inspectorPort, managementUrl };
}

/** Waits until all sessions have expired before a reading: their number depends on the speed of the machine. */
async function untilNoSession(managementUrl: string): Promise<void> {
  const giveUpAt = performance.now() + NO_SESSION_WITHIN_MS;
  while (performance.now() < giveUpAt) {
    const { body } = await request(`${managementUrl}/metrics`);
    const counts = [...(await body.text()).matchAll(/^vmcp_sessions\{[^}]*\} (\d+)$/gm)].map(([, count]) =>
      Number(count),
    );
    if (counts.every((count) => count === 0)) return;
    await sleep(1_000);
  }
  throw new Error('idle sessions do not expire');
}

interface Tally {
  readonly rounds: number;
  readonly failures: Readonly<Record<string, number>>;
}

async function soak(): Promise<{ readings: Reading[]; rounds: number; failures: string[] }> {
  const sets = [await startBackends(2, 5), await startBackends(1, 5, { name: 'events', mode: 'sse' })];
  const bad = await startBackends(1, 1, { name: 'garbage', mode: 'garbage' });
  const { pid, url, inspectorPort, managementUrl } = await startSoaked(
    [...sets, bad].flatMap(({ backends }) => backends),
  );
  const names = await toolNames(url, await openSession(url));
  const flags = names.flatMap((name) => [name.startsWith('garbage') ? '--bad' : '--tool', name]);
  const readings: Reading[] = [];
  const failures: string[] = [];
  let rounds = 0;
  const began = performance.now();
  const end = began + minutes * 60_000;
  while (performance.now() < end || readings.length < 2) {
    const argv = ['--url', url, '--workers', String(workers), '--seconds', String(slice), ...flags];
    const tally = (await startScript('soak/load.ts', argv, slice)).line as Tally;
    rounds += tally.rounds;
    failures.push(...Object.entries(tally.failures).map(([reason, count]) => `${String(count)} x ${reason}`));
    await sleep(pause * 1_000);
    await untilNoSession(managementUrl);
    const mib = (await heapAfterGc(inspectorPort)) / MIB;
    const hours = (performance.now() - began) / 3_600_000;
    readings.push({ hours, mib });
    const rss = usage(pid)?.rssMb.toFixed(0) ?? '?';
    process.stderr.write(
      `${(hours * 60).toFixed(1)} min: heap ${mib.toFixed(2)} MiB, RSS ${rss} MiB, ${String(rounds)} sessions\n`,
    );
  }
  return { readings, rounds, failures };
}

const { readings, rounds, failures } = await soak().finally(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});
const judged = settled(readings, WARM_UP);
const slope = slopePerHour(judged.length > 1 ? judged : readings);
const isFlat = slope < TARGET_MIB_PER_HOUR;
process.stdout.write(
  `W8 soak: ${String(minutes)} min, ${String(rounds)} sessions, ${String(failures.length)} kinds of failure; ` +
    `heap after GC ${readings[0]?.mib.toFixed(2) ?? ''} to ${readings.at(-1)?.mib.toFixed(2) ?? ''} MiB, ` +
    `slope ${slope.toFixed(2)} MiB/h (target < ${String(TARGET_MIB_PER_HOUR)}) ${isFlat ? 'met' : 'MISSED'}\n`,
);
for (const failure of failures) process.stdout.write(`- failed: ${failure}\n`);
process.exitCode = isFlat && failures.length === 0 ? 0 : 1;
