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
import type { LineListener } from '../lines.ts';
import type { Command, IsolatedNetwork } from '../runner.ts';
import { networkFolder } from './network-folders.ts';
import { removeLeftovers, startProcess, type ProcessTable, type StartedChild } from './process.ts';
import { within } from '../../../kit/time.ts';

/** Isolated network that exists. */
export interface OpenNetwork {
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
export async function openNetwork(options: NetworkOptions, signal: AbortSignal): Promise<OpenNetwork> {
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
