import { gatewayOver, server } from '../../harness/manifests.ts';
import { eventually } from '../../harness/poll.ts';
import { openSession } from '../../harness/clients/raw.ts';
import { runCommand, startVmcp, within, type Vmcp } from '../../harness/vmcp.ts';
import { keepLog, type Lab } from '../lab.ts';
import type { Check } from '../result.ts';
import type { Found } from '../unit.ts';
import { checksOf } from './outcome.ts';
import type { ClientEntry } from './registry.ts';
import { installClient } from './toolchains.ts';

const CLIENT_MS = 120_000;

/** Runs each client against one gateway with two servers. */
export async function* runClients(lab: Lab, entries: readonly ClientEntry[]): AsyncGenerator<Found> {
  const vmcp = await startTwoServers(lab);
  for (const entry of entries) {
    lab.step(entry.title);
    const checks = await runClient(lab, entry, vmcp.url).catch((error: unknown) => [notInstalled(error)]);
    yield { name: entry.name, checks };
  }
}

async function runClient(lab: Lab, entry: ClientEntry, url: string): Promise<Check[]> {
  const { folder, command } = await installClient(lab, entry);
  const run = await runCommand(lab.scope, [...command, url], { cwd: folder });
  const late = (): string => `${entry.name} does not end`;
  const { code } = await within(run.exited, CLIENT_MS, late).catch(() => ({ code: -1 }));
  if (run.running()) run.signalGroup('SIGKILL');
  await keepLog(entry.name, run.output());
  return checksOf(code ?? -1, run.stdout(), run.stderr());
}

const notInstalled = (error: unknown): Check => {
  const detail = (error instanceof Error ? error.message : String(error)).slice(0, 300);
  return { name: 'lists and calls', outcome: 'failed', detail };
};

async function startTwoServers({ scope }: Lab): Promise<Vmcp> {
  const servers = ['everything', 'memory'].map((name) => server(name, `npx://@modelcontextprotocol/server-${name}`));
  const vmcp = await startVmcp(scope, { files: gatewayOver(servers) });
  await eventually('both servers are listed', async () => {
    const session = await openSession(vmcp.url);
    const tools = await session.tools();
    await session.end();
    return tools.includes('everything_echo') && tools.includes('memory_read_graph');
  });
  return vmcp;
}
