import { PassThrough } from 'node:stream';
import { readEnvironmentFiles } from '../environment.ts';
import type { LineListener } from '../lines.ts';
import type { Child, Command, Exit, IsolatedNetwork, SpawnOptions } from '../runner.ts';
import { checkEnvFile } from './env-file.ts';
import { openNetwork, type OpenNetwork } from './isolated-network.ts';
import { startProcess, type ProcessTable, type StartedChild } from './process.ts';

type IsolatedCommand = Command & { readonly container: { readonly network: IsolatedNetwork } };

export const isIsolated = (command: Command): command is IsolatedCommand => command.container?.network !== undefined;

/** Streams and state of a child, which exist before its server does. */
interface Pending {
  readonly stdin: PassThrough | null;
  readonly stdout: PassThrough;
  readonly stopping: AbortController;
  server?: StartedChild;
  fault?: string;
}

/** Starts a container in a network of its own. The child ends when the network does not start or is lost. */
export function startIsolated(
  command: IsolatedCommand,
  options: SpawnOptions,
  table: ProcessTable,
  listener: LineListener,
): Child {
  checkEnvFile({ ...command.env, ...readEnvironmentFiles(command.envFiles) });
  const stdin = options.stdin ? new PassThrough() : null;
  stdin?.on('error', () => undefined);
  const pending: Pending = { stdin, stdout: new PassThrough(), stopping: new AbortController() };
  const { stdout, stopping } = pending;
  const exited = run(pending, command, options, table, listener);
  return {
    get pid() {
      return pending.server?.pid ?? -1;
    },
    stdin,
    stdout,
    exited,
    lastStderr: () => pending.fault ?? pending.server?.lastStderr(),
    stderrCause: () => (pending.fault === undefined ? pending.server?.stderrCause() : undefined),
    async stop(graceMs) {
      stopping.abort();
      await pending.server?.stop(graceMs);
      await exited;
    },
  };
}

async function run(
  pending: Pending,
  command: IsolatedCommand,
  options: SpawnOptions,
  table: ProcessTable,
  listener: LineListener,
): Promise<Exit> {
  const { name } = options;
  const { signal } = pending.stopping;
  let network: OpenNetwork | undefined;
  try {
    network = await openNetwork({ name, command, network: command.container.network, table, listener }, signal);
    if (signal.aborted) return STOPPED;
    const server = startProcess(inNetwork(command, network.mode), options, table, listener);
    pending.server = server;
    if (server.stdin) pending.stdin?.pipe(server.stdin);
    server.stdout.pipe(pending.stdout);
    return await runServer(network, server, (message) => (pending.fault ??= message));
  } catch (error) {
    pending.fault = error instanceof Error ? error.message : String(error);
    if (!signal.aborted) listener.line(pending.fault);
    return signal.aborted ? STOPPED : { code: -1, signal: null };
  } finally {
    if (pending.server === undefined) pending.stdout.end();
    await network?.close();
  }
}

const STOPPED: Exit = { code: null, signal: 'SIGTERM' };

/** Waits for the end of the server, and stops it when its network is lost or a port cannot be opened. */
async function runServer(
  network: OpenNetwork,
  server: StartedChild,
  onFault: (message: string) => void,
): Promise<Exit> {
  const ended = new AbortController();
  const fail = (message: string): void => {
    if (ended.signal.aborted) return;
    onFault(message);
    void server.stop();
  };
  void network.lost.then(() => {
    fail('the relay of the isolated network ended');
  });
  network.openPorts(ended.signal).catch((error: unknown) => {
    fail(`a port of the isolated network cannot be opened: ${String(error)}`);
  });
  const exit = await server.exited;
  ended.abort();
  return exit;
}

function inNetwork(command: IsolatedCommand, mode: string): Command {
  const { network: _, ...container } = command.container;
  return { ...command, args: ['run', '--network', mode, ...command.args.slice(1)], container };
}
