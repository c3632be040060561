/**
 * `make interop`: runs identity providers, clients and servers that others wrote, and writes docs/interop.md.
 *   node e2e/interop/main.ts [--only keycloak,servers] [--providers ..] [--clients ..] [--servers ..] [--fresh]
 * Each result is saved at once, so that an interrupted run continues where it ended. The last line is the tally of this run.
 */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../harness/vmcp.ts';
import { CONNECTED, runConnected } from './clients/connected.ts';
import { LOGINS, runLogins } from './clients/logins.ts';
import { CLIENTS } from './clients/registry.ts';
import { runClients } from './clients/run-clients.ts';
import { CACHE, type Lab } from './lab.ts';
import { parseOptions, USAGE, UsageError, type Names, type Options } from './options.ts';
import { PROVIDERS } from './providers/index.ts';
import { runProvider } from './providers/run-provider.ts';
import { KINDS, tallyOf, withResult, type Check, type Result } from './result.ts';
import { namedBy } from './servers/published.ts';
import { SERVERS } from './servers/registry.ts';
import { runServers } from './servers/run-servers.ts';
import { documentOf } from './table.ts';
import type { Found, Listed, Unit } from './unit.ts';

/** Servers that start together. More of them wait for each other on two cores. */
const GROUP = 4;
const RESULTS = join(root, 'e2e', 'interop', 'results.json');
const DOCUMENT = join(root, 'docs', 'interop.md');
/** Names of the finished entries of a run that has not ended. */
const PROGRESS = join(CACHE, 'progress.json');

const providers: Listed[] = PROVIDERS.map(({ name, title, version }) => ({ kind: 'provider', name, title, version }));
const clients: Listed[] = [...CLIENTS, ...LOGINS, ...CONNECTED].map(({ name, title, version }) => ({
  kind: 'client',
  name,
  title,
  version,
}));
const servers: Listed[] = SERVERS.map((entry) => ({
  ...{ kind: 'server', name: entry.name, version: namedBy(entry).version },
  title: `${entry.name} (${namedBy(entry)
    .image.replace(/^\w+:\/\//u, '')
    .replace(/(?:==|(?<=.)@)[^@=]+$/u, '')})`,
}));
const ALL = [...providers, ...clients, ...servers];

const keyOf = ({ kind, name }: Pick<Listed, 'kind' | 'name'>): string => `${kind} ${name}`;
const print = (line: string): void => {
  console.log(`${new Date().toTimeString().slice(0, 8)} ${line}`);
};

function readOptions(): Options {
  const names = (entries: readonly Listed[]): string[] => entries.map(({ name }) => name);
  const known: Names = { provider: names(providers), client: names(clients), server: names(servers) };
  try {
    return parseOptions(process.argv.slice(2), known);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`${error.message}\n${USAGE}`);
    process.exit(2);
  }
}

/** Returns the runs of these entries: a provider, a program with a login, all libraries, all connected programs, or a group of servers. */
function unitsOf(isChosen: (entry: Listed) => boolean): Unit[] {
  const chosen = <Entry extends { name: string }>(registry: readonly Entry[], listed: readonly Listed[]): Entry[] =>
    registry.filter((_entry, index) => listed[index] !== undefined && isChosen(listed[index]));
  const groups = Map.groupBy(chosen(SERVERS, servers).entries(), ([index]) => Math.floor(index / GROUP));
  const own = (list: readonly Listed[], names: readonly { name: string }[]): Listed[] =>
    list.filter(({ name }) => names.some((entry) => entry.name === name));
  const together = <Entry extends { name: string }>(
    list: readonly Listed[],
    entries: readonly Entry[],
    run: (lab: Lab, entries: readonly Entry[]) => AsyncIterable<Found>,
  ): Unit[] => (entries.length === 0 ? [] : [{ entries: own(list, entries), run: (lab) => run(lab, entries) }]);
  return [
    ...chosen(PROVIDERS, providers).map((entry) => ({
      entries: own(providers, [entry]),
      run: (lab: Lab) => runProvider(lab, entry),
    })),
    ...together(clients, chosen(CLIENTS, clients), runClients),
    ...chosen(LOGINS, clients.slice(CLIENTS.length)).flatMap((entry) => together(clients, [entry], runLogins)),
    ...together(clients, chosen(CONNECTED, clients.slice(CLIENTS.length + LOGINS.length)), runConnected),
    ...[...groups.values()].flatMap((group) =>
      together(
        servers,
        group.map(([, entry]) => entry),
        runServers,
      ),
    ),
  ];
}

async function readJson<Value>(file: string, absent: Value): Promise<Value> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  return text === undefined ? absent : (JSON.parse(text) as Value);
}

/** Results of this run, saved with those of earlier runs. */
class Ledger {
  readonly done = new Set<string>();
  readonly found: Result[] = [];
  #keepsProgress = false;

  async open({ isWhole, fresh }: Options): Promise<void> {
    await mkdir(CACHE, { recursive: true });
    if (isWhole && fresh) await rm(PROGRESS, { force: true });
    this.#keepsProgress = isWhole;
    if (isWhole) for (const key of await readJson<readonly string[]>(PROGRESS, [])) this.done.add(key);
  }

  async save(entry: Listed, checks: readonly Check[]): Promise<void> {
    const result: Result = { ...entry, date: new Date().toISOString().slice(0, 10), checks };
    this.found.push(result);
    this.done.add(keyOf(entry));
    // Read again for each entry: another part may run at the same time.
    const registered = new Set(ALL.map(keyOf));
    const saved = (await readJson<readonly Result[]>(RESULTS, [])).filter((other) => registered.has(keyOf(other)));
    const all = withResult(saved, result);
    await writeFile(RESULTS, `${JSON.stringify(all, null, 2)}\n`);
    await writeFile(DOCUMENT, documentOf(all));
    if (this.#keepsProgress) await writeFile(PROGRESS, JSON.stringify([...this.done]));
    for (const { name, outcome, detail } of checks) print(`${keyOf(entry)}: ${outcome}: ${name}: ${detail}`);
  }
}

/** Runs a unit and then stops its processes. An error fails the entries that have not run. */
async function runUnit(unit: Unit, ledger: Ledger, stops: (() => unknown)[]): Promise<void> {
  const waiting = new Map(unit.entries.map((entry) => [entry.name, entry]));
  const lab: Lab = { scope: { defer: (stop) => void stops.push(stop) }, step: (text) => print(`  ${text}`) };
  try {
    for await (const { name, checks } of unit.run(lab)) {
      const entry = waiting.get(name);
      if (entry !== undefined) await ledger.save(entry, checks);
      waiting.delete(name);
    }
  } catch (error) {
    const detail = (error instanceof Error ? error.message : String(error)).slice(0, 400);
    for (const entry of waiting.values()) await ledger.save(entry, [{ name: 'runs', outcome: 'failed', detail }]);
  } finally {
    await stopAll(stops);
  }
}

async function stopAll(stops: (() => unknown)[]): Promise<void> {
  for (const stop of stops.splice(0).reverse()) {
    try {
      await stop();
    } catch (error) {
      print(`  not stopped: ${String(error)}`);
    }
  }
}

const options = readOptions();
const ledger = new Ledger();
await ledger.open(options);
const isChosen = (entry: Listed): boolean =>
  options.chosen[entry.kind].includes(entry.name) && !ledger.done.has(keyOf(entry));
const units = unitsOf(isChosen);
if (ledger.done.size > 0) print('continuing an interrupted run; FRESH=1 starts anew');

const stops: (() => unknown)[] = [];
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    print('stopping: the next make interop continues here');
    void stopAll(stops).finally(() => process.exit(130));
  });
}

for (const [index, unit] of units.entries()) {
  print(`[${String(index + 1)}/${String(units.length)}] ${unit.entries.map(keyOf).join(', ')}`);
  await runUnit(unit, ledger, stops);
}
if (options.isWhole) await rm(PROGRESS, { force: true });
const { passed, failed } = tallyOf(ledger.found);
print(
  `wrote ${DOCUMENT.slice(root.length + 1)} (${KINDS.map((kind) => `${kind}s: ${String(options.chosen[kind].length)}`).join(', ')})`,
);
console.log(`${String(passed)} passed, ${String(failed)} failed`);
process.exitCode = failed > 0 ? 1 : 0;
