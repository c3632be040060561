import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../harness/free-port.ts';
import { within } from '../../harness/vmcp.ts';
import type { Lab } from '../lab.ts';
import type { Check } from '../result.ts';
import type { Found } from '../unit.ts';
import { delegation } from './uses/delegation.ts';
import { exchange } from './uses/exchange.ts';
import { incoming } from './uses/incoming.ts';
import { upstream } from './uses/upstream.ts';
import type { Trial } from './uses/trial.ts';
import { DOCUMENTED_PORTS, replacing, USES, type Place, type Provider, type Use } from './provider.ts';

/** Runs a use and returns a sentence about what worked. @throws Error that says what did not */
type RunUse = (trial: Trial) => Promise<string>;
/** Time for a use. A provider that does not answer fails this use only. */
const USE_MS = 180_000;
const RUNS: Readonly<Record<Use, RunUse>> = { incoming, upstream, exchange, delegation };

/** Starts a provider and runs each of its uses against a gateway of its own. */
export async function* runProvider(lab: Lab, provider: Provider): AsyncGenerator<Found> {
  const [gateway, backend] = [await freePort(), await freePort()];
  const port = await freePort(3);
  const documented = Number(new URL(provider.issuer).port);
  const ports = new Map([
    [DOCUMENTED_PORTS.gateway, gateway],
    [DOCUMENTED_PORTS.backend, backend],
    [documented, port],
    [documented + 1, port + 1],
    [documented + 2, port + 2],
  ]);
  const at = replacing(ports);
  const file = async (name: string): Promise<string> =>
    at(await readFile(join(import.meta.dirname, provider.name, name), 'utf8'));
  const place: Place = { at, port, file };
  await provider.start(lab, place);
  lab.step(`${provider.title} runs at ${at(provider.issuer)}`);
  const checks: Check[] = [];
  for (const use of USES) checks.push(await tried(use, { lab, provider, place, gateway, backend }));
  const documentedAt = replacing(new Map([...ports].map(([from, to]) => [to, from])));
  yield { name: provider.name, checks: checks.map((check) => ({ ...check, detail: documentedAt(check.detail) })) };
}

/** Runs a use and then stops its processes. */
async function tried(use: Use, trial: Omit<Trial, 'scope'>): Promise<Check> {
  const reason = trial.provider.lacks[use];
  if (reason !== undefined) return { name: use, outcome: 'absent', detail: reason };
  const stops: (() => unknown)[] = [];
  trial.lab.step(use);
  try {
    const run = RUNS[use]({ ...trial, scope: { defer: (stop) => void stops.push(stop) } });
    const detail = await within(run, USE_MS, () => `${use} does not end: a request has no answer`);
    return { name: use, outcome: 'passed', detail };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    trial.lab.step(`${use}: ${text}`);
    return { name: use, outcome: 'failed', detail: text.replaceAll(/\s+/gu, ' ').slice(0, 300) };
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}
