import { type EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type Socket, connect, isIP } from 'node:net';
import { joinUnreadPieces } from '../../../http/body/unread-pieces.ts';
import { answer, forward } from '../forward.ts';
import { join } from '../relay/join.ts';
import { MAX_CONNECTIONS } from '../relay/program.ts';
import { parseAuthority, type Destination, addressFault, canonical, isHostName, nameFault } from './access.ts';
import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import { networkInterfaces } from 'node:os';
import type { ContainerIsolation } from '../../../contract/container.ts';
import { limited } from '../../../kit/time.ts';

interface DialOptions {
  readonly isolation: ContainerIsolation;
  /** Resolves a name; by the system when absent. */
  readonly lookup?: (host: string) => Promise<readonly LookupAddress[]>;
  /** Addresses of the container host; those of the network interfaces when absent. */
  readonly ownAddresses?: () => readonly string[];
  /** Time to resolve the name and to connect; 15 s when absent. */
  readonly connectTimeoutMs?: number;
}

/** The isolation refuses a destination. The message has the reason. */
class RefusedDestination extends Error {
  override readonly name = 'RefusedDestination';
}

const CONNECT_TIMEOUT_MS = 15_000;
/** Silence after which the system checks that the remote still exists. */
const KEEP_ALIVE_MS = 60_000;

/**
 * Connects to a destination. Every address of its name must be allowed, and one of these addresses is dialled. `left` ends
 * the attempt, and has no effect on the returned socket.
 * @throws RefusedDestination, or the error of the look-up or the connection
 */
async function dial(to: Destination, options: DialOptions, left: AbortSignal): Promise<Socket> {
  const attempt = async (signal: AbortSignal): Promise<Socket> => {
    const found = await Promise.race([allowedAddresses(to, options), aborted(signal)]);
    return open(to, found, signal);
  };
  return limited(options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS, attempt, left);
}

async function allowedAddresses(to: Destination, options: DialOptions): Promise<readonly LookupAddress[]> {
  const { isolation, lookup = systemAddresses, ownAddresses = interfaceAddresses } = options;
  const fault = nameFault(to, isolation);
  if (fault !== undefined) throw refused(to, fault);
  const found = await resolve(to, lookup);
  const own = new Set(ownAddresses().map(canonical));
  for (const { address } of found) {
    const reason = addressFault(to, address, isolation, own);
    if (reason !== undefined) throw refused(to, reason);
  }
  return found;
}

async function open(to: Destination, found: readonly LookupAddress[], signal: AbortSignal): Promise<Socket> {
  const [first] = found;
  if (first === undefined) throw new Error(`no address for ${to.host}`);
  const socket = connect({
    port: to.port,
    host: found.length === 1 ? first.address : to.host,
    allowHalfOpen: true,
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_MS,
    signal,
    lookup: (_host, _options, callback) => {
      callback(null, [...found]);
    },
  });
  await once(socket, 'connect');
  return socket;
}

/** Rejects when `signal` is aborted. */
const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    const fail = (): void => {
      reject(new Error('the attempt has ended'));
    };
    if (signal.aborted) fail();
    else signal.addEventListener('abort', fail, { once: true });
  });

const refused = ({ host, port }: Destination, reason: string): RefusedDestination =>
  new RefusedDestination(`connections to ${host}:${port} are not allowed: ${reason}`);

async function resolve(
  to: Destination,
  lookup: (host: string) => Promise<readonly LookupAddress[]>,
): Promise<readonly LookupAddress[]> {
  const family = isIP(to.host);
  if (family !== 0) return [{ address: to.host, family }];
  return isHostName(to) ? [{ address: '127.0.0.1', family: 4 }] : lookup(to.host);
}

const systemAddresses = (host: string): Promise<LookupAddress[]> =>
  new Promise((resolve, reject) => {
    systemLookup(host, { all: true }, (error, addresses) => {
      if (error) reject(error);
      else resolve(addresses);
    });
  });

const interfaceAddresses = (): string[] =>
  Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => address));

export interface EgressOptions extends DialOptions {
  /** Reports a refused connection, once per destination. */
  readonly onRefused: (message: string) => void;
}

/** Time for a refused client to close its side. */
const CLOSE_MS = 5_000;
/** Destinations that are reported. */
const MAX_REPORTS = 100;

/**
 * HTTP proxy of one isolated container: CONNECT, and requests with an absolute `http://` URL (RFC 9112 §3.2.2). It resolves
 * the names itself, so the container needs no DNS.
 */
export function createEgressProxy(options: EgressOptions): Server {
  const report = reportOnce(options.onRefused);
  const server = createServer((request, response) => void serve(request, response, options, report));
  server.maxConnections = MAX_CONNECTIONS;
  server.requestTimeout = 0; // an upload may take long
  server.on('connect', (request: IncomingMessage, client: Socket, head: Buffer) => {
    void tunnel(request.url ?? '', client, head, options, report);
  });
  server.on('clientError', (_error, socket) => socket.destroy());
  return server;
}

async function tunnel(
  authority: string,
  client: Socket,
  head: Buffer,
  options: EgressOptions,
  report: (message: string) => void,
): Promise<void> {
  client.on('error', () => undefined);
  const to = parseAuthority(authority);
  if (to === undefined) {
    refuse(client, 400, 'write CONNECT host:port');
    return;
  }
  try {
    const remote = await dial(to, options, signalOf(client, 'end', 'close'));
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    if (head.length > 0) remote.write(head);
    join(client, remote);
  } catch (error) {
    const { status, message } = failure(error, to, report);
    refuse(client, status, message);
  }
}

/** Returns a signal that is aborted by the first of these events, which tell that a client has left. */
function signalOf(client: EventEmitter, ...events: readonly string[]): AbortSignal {
  const left = new AbortController();
  for (const event of events) client.once(event, () => left.abort());
  return left.signal;
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  options: EgressOptions,
  report: (message: string) => void,
): Promise<void> {
  joinUnreadPieces(request);
  const url = URL.parse(request.url ?? '');
  const to = url?.protocol === 'http:' ? parseAuthority(`${url.hostname}:${url.port || '80'}`) : undefined;
  if (url === null || to === undefined) {
    answer(response, 400, 'this is a proxy: write http://HOST/PATH, or CONNECT host:port');
    return;
  }
  try {
    const remote = await dial(to, options, signalOf(response, 'close'));
    forward(request, response, remote, { path: `${url.pathname}${url.search}`, host: url.host });
  } catch (error) {
    const { status, message } = failure(error, to, report);
    answer(response, status, message);
  }
}

function failure(error: unknown, { host, port }: Destination, report: (message: string) => void) {
  if (!(error instanceof RefusedDestination)) return { status: 502, message: `${host}:${port} cannot be reached` };
  report(error.message);
  return { status: 403, message: error.message };
}

/** Answers a client whose connection is no longer HTTP, and closes the connection. */
function refuse(client: Socket, status: number, message: string): void {
  const body = `vmcp: ${message}\n`;
  const reason = { 400: 'Bad Request', 403: 'Forbidden' }[status] ?? 'Bad Gateway';
  const head = `content-type: text/plain; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close`;
  client.resume(); // to notice its end
  client.setTimeout(CLOSE_MS, () => client.destroy());
  client.end(`HTTP/1.1 ${status} ${reason}\r\n${head}\r\n\r\n${body}`);
}

function reportOnce(report: (message: string) => void): (message: string) => void {
  const reported = new Set<string>();
  return (message) => {
    if (reported.has(message) || reported.size >= MAX_REPORTS) return;
    reported.add(message);
    report(message);
  };
}
