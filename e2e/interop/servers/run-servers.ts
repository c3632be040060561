import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { connectV1 } from '../../harness/clients/sdk-v1.ts';
import { eventually } from '../../harness/poll.ts';
import { startVmcp, temporaryFolder, vmcpResult, writeFiles, type Vmcp } from '../../harness/vmcp.ts';
import { CACHE, keepLog, uvEnvironment, type Lab } from '../lab.ts';
import type { Check } from '../result.ts';
import type { Found } from '../unit.ts';
import { namedBy, publishedServer } from './published.ts';
import type { ServerEntry } from './registry.ts';
import { RUNS, verdictOf, type BackendStatus } from './verdict.ts';

/** Time for all installations of a group, and for the first answers. */
const SETTLED_MS = 12 * 60_000;
/** Time for which a state must last: a server that starts may be unhealthy for a moment. */
const STEADY_MS = 15_000;
const MAX_STARTING_MS = 150_000;

/** Starts the servers of a group with `vmcp import` and `vmcp up`, and returns the check of each. */
export async function* runServers(lab: Lab, entries: readonly ServerEntry[]): AsyncGenerator<Found> {
  const folder = await temporaryFolder(lab.scope);
  const servers = Object.fromEntries(entries.map((entry) => [entry.name, publishedServer(entry, folder)]));
  await writeFiles(folder, { 'mcp.json': JSON.stringify({ mcpServers: servers }, null, 2), 'note.txt': 'hello' });
  const imported = await vmcpResult(lab.scope, ['import', 'mcp.json'], { cwd: folder });
  const images = await imagesIn(join(folder, 'vmcp'));
  const others = entries.filter((entry) => images.get(entry.name) !== namedBy(entry).image);
  for (const { name } of others) yield { name, checks: [notImported(name, images.get(name), imported.output)] };
  const rest = entries.filter((entry) => !others.includes(entry));
  if (rest.length > 0) yield* startServers(lab, join(folder, 'vmcp'), rest);
}

function notImported(name: string, image: string | undefined, output: string): Check {
  const line = output.split('\n').find((text) => text.includes(`"${name}"`)) ?? output.slice(0, 200);
  const detail = image === undefined ? `vmcp import: ${line}` : `vmcp import runs ${image} instead`;
  return { name: RUNS, outcome: 'failed', detail };
}

/** Reads the images of the MCPServers that `vmcp import` wrote. */
async function imagesIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const files = (await readdir(folder).catch(() => [])).filter((file) => file.endsWith('.yaml'));
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
  const objects = texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as unknown));
  type Server = { kind: string; metadata: { name: string }; spec: { image: string } };
  const servers = objects.filter((object): object is Server => (object as Server | null)?.kind === 'MCPServer');
  return new Map(servers.map(({ metadata, spec }) => [metadata.name, spec.image]));
}

async function* startServers(lab: Lab, folder: string, entries: readonly ServerEntry[]): AsyncGenerator<Found> {
  const env = await uvEnvironment(lab);
  const vmcp = await startVmcp(lab.scope, {
    paths: [folder],
    state: join(CACHE, 'state'),
    env,
    readyTimeoutMs: SETTLED_MS,
  });
  const settled = new Map<string, BackendStatus>();
  const since = new Map<string, { state: string; at: number }>();
  await eventually(
    'every server has settled',
    async () => {
      for (const backend of await backendsOf(vmcp)) {
        if (settled.has(backend.name) || !isSettled(backend, since)) continue;
        settled.set(backend.name, backend);
        lab.step(`${backend.name}: ${backend.health} ${backend.reason ?? ''}`);
      }
      return settled.size === entries.length;
    },
    { timeoutMs: SETTLED_MS, intervalMs: 500 },
  ).catch(() => undefined);
  const refusal = await listRefusal(vmcp);
  await keepLog(entries.map(({ name }) => name).join('+'), vmcp.output());
  const programs = await commandLines(vmcp);
  const last = new Map((await backendsOf(vmcp)).map((backend) => [backend.name, backend]));
  for (const entry of entries) {
    const backend = settled.get(entry.name) ?? last.get(entry.name) ?? { name: entry.name, health: 'absent' };
    yield { name: entry.name, checks: [judge(entry, backend, refusal, programs)] };
  }
}

function judge(entry: ServerEntry, backend: BackendStatus, refusal: string | undefined, programs: string): Check {
  const check = verdictOf(entry, backend);
  const { program } = namedBy(entry);
  if (check.name !== RUNS || check.outcome === 'failed') return check;
  if (refusal !== undefined) return { ...check, outcome: 'failed', detail: `${check.detail}, but ${refusal}` };
  if (program === undefined || programs.includes(`/${program}`)) return check;
  return { ...check, outcome: 'failed', detail: `${check.detail}, but another program than ${program} runs` };
}

function isSettled({ name, health }: BackendStatus, since: Map<string, { state: string; at: number }>): boolean {
  const known = since.get(name);
  if (known?.state !== health) since.set(name, { state: health, at: Date.now() });
  const lastedMs = known?.state === health ? Date.now() - known.at : 0;
  if (health === 'healthy' || health === 'degraded') return true;
  if (health === 'unhealthy' || health === 'unauthenticated') return lastedMs > STEADY_MS;
  return health !== 'installing' && lastedMs > MAX_STARTING_MS;
}

async function backendsOf({ management }: Vmcp): Promise<BackendStatus[]> {
  const answer = await fetch(`${management}/status`, { signal: AbortSignal.timeout(10_000) });
  const { backends } = (await answer.json()) as { backends: BackendStatus[] };
  return backends;
}

/** Returns why a strict client cannot list the tools of the group; undefined when it can. */
async function listRefusal({ url }: Vmcp): Promise<string | undefined> {
  const { client, close } = await connectV1({ transport: 'streamable-http', url });
  try {
    await client.listTools();
    return undefined;
  } catch (error) {
    const text = (error instanceof Error ? error.message : String(error)).replaceAll(/\s+/gu, ' ');
    return `the TypeScript SDK refuses the list of these servers: ${text.slice(0, 120)}`;
  } finally {
    await close();
  }
}

const commandLines = async (vmcp: Vmcp): Promise<string> =>
  (await vmcp.descendants()).map(({ command }) => command).join('\n');
