import type { Writable } from 'node:stream';
import type { Cluster, Redis } from 'ioredis';
import { connect, subscribe, type OnFault } from './connection.ts';
import { KeyValueStoreUnavailable, type Argument, type KeyValueStore, type Script } from './key-value-store.ts';
import { keyPrefixProblem, type KeyValueSettings, type OnDenied } from './settings.ts';
import type { Logger } from '../contract/logger.ts';

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
