import type { Writable } from 'node:stream';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import {
  KeyValueStoreUnavailable,
  type Argument,
  type KeyValueStore,
  type Script,
  type OnMessage,
} from './key-value-store.ts';
import {
  keyPrefixProblem,
  type KeyValueSettings,
  type OnDenied,
  type KeyValueCredentials,
  type KeyValueTls,
} from './settings.ts';
import type { Logger } from '../contract/logger.ts';
import type { ConnectionOptions } from 'node:tls';
import { TrustedRoots } from '../outbound/trusted-roots.ts';

type Runner = (keyCount: number, ...keysAndArguments: readonly Argument[]) => Promise<unknown>;

/**
 * Opens a client that connects in the background.
 * @throws Error when the prefix, the credentials or a CA bundle is unusable.
 */
export function openKeyValueStore(settings: KeyValueSettings, log: Pick<Logger, 'warn' | 'info'>): KeyValueStore {
  const problem = keyPrefixProblem(settings.keyPrefix);
  if (problem !== undefined) throw new Error(`key prefix ${problem}`);
  const client = connect(settings, log);
  const run = scriptRunner(client, '');
  const runBytes = scriptRunner(client, 'Buffer');
  const onFault = firstDenial(settings.onDenied);
  const bounded = timeLimit(settings.replyTimeoutMs, onFault);
  const gather = gatherWrites(client);
  const subscriptions: (() => void)[] = [];
  return {
    key: (name) => `${settings.keyPrefix}${name}`,
    command: (name, ...args) => {
      gather();
      return bounded(client.call(name, ...args));
    },
    bytes: (name, ...args) => {
      gather();
      return bounded(client.callBuffer(name, ...args));
    },
    run: (script, keys, args) => {
      gather();
      return bounded(run(script)(keys.length, ...keys, ...args));
    },
    runBytes: (script, keys, args) => {
      gather();
      return bounded(runBytes(script)(keys.length, ...keys, ...args));
    },
    subscribe: (channels, onMessage) => {
      subscriptions.push(subscribe(settings, channels, { onMessage, onFault }));
    },
    close: () => {
      for (const end of subscriptions) end();
      client.disconnect();
    },
  };
}

/** Sends all commands of one turn of the event loop in one write, since a write costs more than a command. */
function gatherWrites(client: Redis | Cluster): () => void {
  let gathering = false;
  return () => {
    const { stream } = client as { readonly stream?: Writable }; // absent for a cluster, which has several
    if (gathering || !stream) return;
    gathering = true;
    stream.cork();
    setImmediate(() => {
      gathering = false;
      stream.uncork();
    });
  };
}

/**
 * Runs scripts by their hash; ioredis sends the source when the server does not have it. The client has a second
 * command with the suffix `Buffer` for each script.
 */
function scriptRunner(client: Redis | Cluster, suffix: '' | 'Buffer'): (script: Script) => Runner {
  const runners = new Map<Script, Runner>();
  return (script) => {
    let runner = runners.get(script);
    if (!runner) {
      client.defineCommand(script.name, { lua: script.lua });
      const defined = (client as unknown as Readonly<Record<string, Runner>>)[script.name + suffix];
      if (!defined) throw new Error(`the client has no command ${script.name}`);
      runner = defined.bind(client);
      runners.set(script, runner);
    }
    return runner;
  };
}

/** Replies about missing rights. For commands of scripts Redis 7.0 has no code, and newer versions say "ACL failure". */
const DENIED = /\b(?:NOPERM|user executing the script|ACL failure)\b/u;

/** Returns a function that passes the first reply about missing rights to `onDenied`. */
function firstDenial(onDenied: OnDenied | undefined): OnFault {
  let isReported = onDenied === undefined;
  return ({ message }) => {
    if (isReported || !DENIED.test(message)) return;
    isReported = true;
    onDenied?.(message);
  };
}

/** Rejects after `limitMs`. Replaces errors of ioredis by their message, because they contain the command's arguments. */
function timeLimit(limitMs: number, onFault: OnFault): <T>(answer: Promise<T>) => Promise<T> {
  return (answer) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new KeyValueStoreUnavailable(`no answer within ${limitMs} ms`));
      }, limitMs);
      answer.then(
        (value) => {
          clearTimeout(timer);
          resolve(value);
        },
        (error: unknown) => {
          clearTimeout(timer);
          if (error instanceof Error) onFault(error);
          reject(new KeyValueStoreUnavailable(error instanceof Error ? error.message : 'no answer'));
        },
      );
    });
}

const LONGEST_PAUSE_MS = 1_000;
const pauseMs = (attempt: number): number => Math.min(attempt * 50, LONGEST_PAUSE_MS);

/** Returns a client that connects in the background and reconnects until it is closed. */
function connect(settings: KeyValueSettings, log: Pick<Logger, 'warn' | 'info'>): Redis | Cluster {
  const client = settings.servers.kind === 'cluster' ? cluster(settings, log) : single(settings, log);
  return logged(client, log);
}

/** Interval of a command on a connection that only receives, so that a dead connection is noticed. */
const PING_EVERY_MS = 5_000;

/** Receives the error that a command failed with. */
type OnFault = (error: Error) => void;

/**
 * Opens a second connection that receives the messages of `channels`, and subscribes again after each reconnect. The
 * returned function closes it.
 */
function subscribe(
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
