import { PassThrough } from 'node:stream';
import { readEnvironmentFiles } from '../environment.ts';
import type { LineListener } from '../lines.ts';
import type { Child, Command, Exit, IsolatedNetwork, SpawnOptions } from '../runner.ts';
import { checkEnvFile, networkFolder } from './owned-entries.ts';
import { startProcess, type ProcessTable, type StartedChild, removeLeftovers } from './process.ts';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { Server as HttpServer } from 'node:http';
import type { Server, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { recordListener } from '../../../outbound/own-listeners.ts';
import { createEgressProxy } from '../../container/egress/proxy.ts';
import { createIngress, createPublisher } from '../../container/ingress.ts';
import { programFiles, relayArguments, RELAY_ENVIRONMENT } from '../../container/relay/command.ts';
import { openRelaySockets, type RelaySockets } from '../../container/relay/sockets.ts';
import { within } from '../../../kit/time.ts';

/** Isolated network that exists. */
interface OpenNetwork {
  /** Value of `--network` for the server. */
  readonly mode: string;
  /** Resolves when the network no longer works. */
  readonly lost: Promise<unknown>;
  /** Opens the ports on 127.0.0.1. That of the endpoint opens once the server accepts connections. */
  openPorts(signal: AbortSignal): Promise<void>;
  /** Closes the ports and removes the relay. Call it when the server is gone. */
  close(): Promise<void>;
}

interface NetworkOptions {
  readonly name: string;
  readonly command: Command;
  readonly network: IsolatedNetwork;
  readonly table: ProcessTable;
  readonly listener: LineListener;
}

const START_TIMEOUT_MS = 60_000;
const PROBE_MS = 100;

/** Starts the relay of an isolated network and waits until it runs. Throws when it does not start. */
async function openNetwork(options: NetworkOptions, signal: AbortSignal): Promise<OpenNetwork> {
  const { network, table, listener } = options;
  const dir = networkFolder(table.stateDir);
  const onRefused = (message: string): void => {
    listener.line(message);
  };
  const { isolation, proxyPort } = network;
  const egress = proxyPort === undefined ? undefined : createEgressProxy({ isolation, onRefused });
  const servers: Server[] = [];
  let sockets: RelaySockets | undefined;
  let relay: StartedChild | undefined;
  const close = async (): Promise<void> => {
    for (const server of servers) closeServer(server);
    sockets?.close();
    await relay?.stop();
    await removeLeftovers(table);
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    sockets = await openRelaySockets(dir, egress);
    relay = startRelay(options, dir);
    await waitFor(sockets.ready, relay, signal);
    const opened = sockets;
    return {
      mode: `container:${relay.containerName ?? ''}`,
      lost: Promise.race([opened.lost, relay.exited]),
      openPorts: (ended) => openPorts(network, opened, servers, ended),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function startRelay({ name, command, network, table, listener }: NetworkOptions, socketDir: string): StartedChild {
  const { image, labels, proxyPort = 0 } = network;
  const args = relayArguments({ image, labels, socketDir, files: programFiles(), mode: proxyPort });
  const { file, container } = command;
  const relay = { file, args: ['run', ...args], env: RELAY_ENVIRONMENT, envFiles: {} };
  const clientEnv = container?.clientEnv ?? {};
  const options = { name: `${name}-relay`, stdin: false };
  const child = startProcess({ ...relay, container: { clientEnv, isRelay: true } }, options, table, listener);
  child.stdout.resume();
  return child;
}

async function waitFor(ready: Promise<void>, relay: StartedChild, signal: AbortSignal): Promise<void> {
  const decided = Promise.race([ready.then(() => 'ready' as const), relay.exited.then(() => 'ended' as const)]);
  const state = await within(START_TIMEOUT_MS, decided, 'late' as const, { signal });
  if (state === 'ready') return;
  const late = signal.aborted ? 'it was stopped' : 'it does not answer';
  const reason = { ended: relay.lastStderr() ?? 'it ended', late };
  throw new Error(`the relay of the isolated network did not start: ${reason[state]}`);
}

async function openPorts(
  { isolation, endpoint, published }: IsolatedNetwork,
  sockets: RelaySockets,
  servers: Server[],
  signal: AbortSignal,
): Promise<void> {
  const connect = (port: number): Promise<Socket> => sockets.connect(port);
  const open = async (server: Server, port: number): Promise<void> => {
    servers.push(server);
    server.listen({ port, host: '127.0.0.1', exclusive: true });
    await once(server, 'listening');
    recordListener(server, 'mcp');
  };
  for (const { port, targetPort } of published)
    await open(
      createPublisher(() => connect(targetPort)),
      port,
    );
  if (endpoint === undefined) return;
  const { port, targetPort } = endpoint;
  while (!signal.aborted) {
    const socket = await connect(targetPort).catch(() => undefined);
    socket?.destroy();
    if (socket && !isAborted(signal)) {
      await open(createIngress({ connect: () => connect(targetPort), hosts: isolation.inbound_hosts }), port);
      return;
    }
    await sleep(PROBE_MS);
  }
}

/** Reads the state anew: it can change during an `await`. */
const isAborted = (signal: AbortSignal): boolean => signal.aborted;

function closeServer(server: Server): void {
  server.close();
  if (server instanceof HttpServer) server.closeAllConnections();
}

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
