import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { ConnectionOptions } from 'node:tls';
import { TrustedRoots } from '../outbound/trusted-roots.ts';
import type { OnMessage } from './key-value-store.ts';
import type { KeyValueCredentials, KeyValueSettings, KeyValueTls } from './settings.ts';

import type { Logger } from '../contract/logger.ts';

const LONGEST_PAUSE_MS = 1_000;
const pauseMs = (attempt: number): number => Math.min(attempt * 50, LONGEST_PAUSE_MS);

/** Returns a client that connects in the background and reconnects until it is closed. */
export function connect(settings: KeyValueSettings, log: Pick<Logger, 'warn' | 'info'>): Redis | Cluster {
  const client = settings.servers.kind === 'cluster' ? cluster(settings, log) : single(settings, log);
  return logged(client, log);
}

/** Interval of a command on a connection that only receives, so that a dead one is noticed. */
const PING_EVERY_MS = 5_000;

/** Receives the error that a command failed with. */
export type OnFault = (error: Error) => void;

/**
 * Opens a second connection that receives the messages of `channels`, and subscribes again after each reconnect. The
 * returned function closes it.
 */
export function subscribe(
  settings: KeyValueSettings,
  channels: readonly string[],
  { onMessage, onFault }: { readonly onMessage: OnMessage; readonly onFault: OnFault },
): () => void {
  const client = settings.servers.kind === 'cluster' ? cluster(settings, SILENT) : single(settings, SILENT);
  client.on('error', () => undefined); // the log has the same errors of the first connection
  client.on('ready', () => {
    client.subscribe(...channels).catch(onFault); // a connection that has failed will be opened again
  });
  client.on('messageBuffer', (channel: Buffer, message: Buffer) => {
    onMessage(channel.toString(), message);
  });
  const pings = setInterval(() => {
    client.ping().catch(() => undefined);
  }, PING_EVERY_MS).unref();
  return () => {
    clearInterval(pings);
    client.disconnect();
  };
}

const SILENT = { warn: () => undefined, info: () => undefined };

/**
 * Options of every connection. `maxRetriesPerRequest` is 0: a running command fails when its connection breaks. A
 * retried `take` of a code could find that its first attempt has already taken the code.
 */
function common(settings: KeyValueSettings, log: Pick<Logger, 'warn' | 'info'>) {
  const { username, password } = settings.credentials?.() ?? {};
  return {
    db: settings.db,
    ...(password === undefined ? {} : { password }),
    ...(username === undefined ? {} : { username }),
    ...(settings.tls ? { tls: tlsOptions(settings.tls, log) } : {}),
    connectTimeout: settings.connectTimeoutMs,
    socketTimeout: settings.replyTimeoutMs,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
  } satisfies RedisOptions;
}

function single(settings: KeyValueSettings, log: Pick<Logger, 'warn' | 'info'>): Redis {
  const client = new Redis({
    ...common(settings, log),
    ...location(settings, log),
    retryStrategy: pauseMs,
    // The master has become a replica: reconnect to find the new master.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  });
  const { credentials } = settings;
  if (credentials) client.on('reconnecting', () => renewCredentials(client, credentials, log));
  return client;
}

function location(
  { servers, connectTimeoutMs, replyTimeoutMs, tls }: KeyValueSettings,
  log: Pick<Logger, 'warn' | 'info'>,
) {
  if (servers.kind !== 'sentinel') return servers.kind === 'single' ? { ...servers.address } : {};
  return {
    sentinels: [...servers.addresses],
    name: servers.masterName,
    role: 'master' as const,
    sentinelRetryStrategy: pauseMs,
    sentinelCommandTimeout: Math.max(connectTimeoutMs, replyTimeoutMs),
    enableTLSForSentinelMode: tls !== undefined,
    ...(servers.tls ? { sentinelTLS: tlsOptions(servers.tls, log) } : {}),
  };
}

/** Returns a cluster client. A command fails after five redirections; a moving slot needs fewer. */
function cluster(settings: KeyValueSettings, log: Pick<Logger, 'warn' | 'info'>): Cluster {
  const addresses = settings.servers.kind === 'cluster' ? settings.servers.addresses : [];
  const { enableOfflineQueue: _, ...redisOptions } = common(settings, log);
  return new Cluster([...addresses], {
    redisOptions,
    enableOfflineQueue: false,
    maxRedirections: 5,
    clusterRetryStrategy: pauseMs,
    slotsRefreshTimeout: settings.replyTimeoutMs,
  });
}

/** Returns TLS options with a getter: ioredis copies the members at each connection, so a changed bundle takes effect. */
function tlsOptions(
  { caFile, insecureSkipVerify = false }: KeyValueTls,
  log: Pick<Logger, 'warn' | 'info'>,
): ConnectionOptions {
  if (insecureSkipVerify) {
    log.warn('certificates of the key-value store are not verified');
    return { rejectUnauthorized: false, minVersion: 'TLSv1.2' };
  }
  const roots = new TrustedRoots({ caFile, log });
  roots.context();
  return {
    get secureContext() {
      return roots.context();
    },
  };
}

function renewCredentials(
  client: Redis,
  credentials: () => KeyValueCredentials,
  log: Pick<Logger, 'warn' | 'info'>,
): void {
  try {
    const { username, password } = credentials();
    client.options.username = username;
    client.options.password = password;
  } catch (error) {
    log.warn('credentials of the key-value store cannot be read', { fault: (error as Error).message });
  }
}

/** Logs once when the store becomes unreachable, and once when it is reachable again. */
function logged<Client extends Redis | Cluster>(client: Client, log: Pick<Logger, 'warn' | 'info'>): Client {
  let reachable: boolean | undefined;
  client.on('error', (error: Error) => {
    if (reachable !== false) log.warn('key-value store is unreachable', { fault: error.message });
    reachable = false;
  });
  client.on('ready', () => {
    if (reachable !== true) log.info('key-value store is reachable');
    reachable = true;
  });
  return client;
}
