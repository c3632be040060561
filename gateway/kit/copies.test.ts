import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** Production code. The kit itself holds each mechanism once. */
const sources = globSync('{crds,gateway,operator}/**/*.ts', { cwd: root, exclude: ['**/node_modules/**'] }).filter(
  (file) => !/\.test\.ts$|\/testdata\/|^gateway\/kit\//u.test(file),
);

/** A mechanism of the kit, the form of a copy of it, and the places that have this form for a reason. */
interface Mechanism {
  readonly name: string;
  readonly instead: string;
  readonly copy: RegExp;
  /** Number of places by file, each with a reason beside it. */
  readonly exceptions: Readonly<Record<string, number>>;
}

const MECHANISMS: readonly Mechanism[] = [
  {
    name: 'exponential backoff',
    instead: 'backoffMs or nextPauseMs of gateway/kit/time.ts',
    copy: /\*= 2\b|\* 2 \*\* |Ms \* 2[,);]|\b2 \* [\w.#]*Ms\b/gu,
    exceptions: {},
  },
  {
    name: 'clock',
    instead: 'Clock, After or LONGEST_TIMER_MS of gateway/kit/time.ts',
    copy: /\b(?:interface|type) (?:\w*Clock|After|Schedule) [={]|\b2 \*\* 31\b/gu,
    exceptions: {
      'gateway/http/body/reading-turns.ts': 1, // a clock that repeats a call
      'gateway/contract/fields.ts': 1, // the contract imports nothing: it states the longest duration of a field
    },
  },
  {
    name: 'wait for a promise, or for a time',
    instead: 'within, endOf, withinTime or limited of gateway/kit/time.ts',
    copy: /\bPromise\.race\(/gu,
    exceptions: {
      // no timer takes part in these
      'gateway/vmcp/transport/abort.ts': 1,
      'gateway/vmcp/transport/stdio/process-pool.ts': 1,
      'gateway/vmcp/views/readable-view.ts': 1,
      'gateway/vmcp/views/views.ts': 1,
      'gateway/workloads/container/egress/proxy.ts': 1,
      'gateway/workloads/runner/process/isolated.ts': 2,
      'gateway/workloads/store/local/validation.ts': 1,
      'operator/cli/operator/operator.ts': 1,
      'gateway/management/frame/serve-operations.ts': 1, // a stream removes the limit of its call
      'gateway/vmcp/replicas/connections.ts': 1, // asks in between whether the other replica runs
    },
  },
  {
    name: 'promise that a timer settles',
    instead: 'within of gateway/kit/time.ts, or setTimeout of node:timers/promises',
    copy: /\bsetTimeout\((?:resolve|reject|done)\b|new Promise[^;]{0,80}\bsetTimeout\(/gu,
    exceptions: {
      'gateway/audit/output.ts': 1, // `reopen` and `close` end the pause
      'gateway/http/redirect-listener.ts': 1, // the end of the listener ends the wait
      'gateway/management/frame/time-limit.ts': 1, // a stream removes the limit of its call
      'gateway/kvstore/open.ts': 1, // for each command of a call: no further promise
      'gateway/vmcp/backends/fleet.ts': 1, // `endWaiting` ends the wait of all
      'gateway/vmcp/edge/modern/tasks/task-watch.ts': 1, // the timer cancels the request, which settles the promise
    },
  },
  {
    name: 'single flight',
    instead: 'SingleFlight or Flights of gateway/kit/tasks.ts',
    copy: /\.finally\(\(\) => \{?\s*(?:this\.)?[#\w.]+(?: = undefined|\.delete\()/gu,
    exceptions: {
      // sets of all that run, for those that wait for their end
      'gateway/process/gateway.ts': 1,
      'gateway/vmcp/backends/backend.ts': 1,
      'gateway/vmcp/backends/fleet.ts': 1,
      'gateway/vmcp/transport/sse/sse-transport.ts': 1,
      'gateway/vmcp/transport/stdio/process-pool.ts': 1,
      'gateway/audit/output.ts': 1, // `#writing` is also the state of the output
      'gateway/vmcp/replicas/shared-sessions.ts': 2, // state of a session that is shared, and that its end changes
      'operator/cli/up/watch-paths.ts': 1, // changes meanwhile cause another run
    },
  },
  {
    name: 'map of running tasks',
    instead: 'Flights of gateway/kit/tasks.ts',
    copy: /\bMap<[^<>]*, Promise</gu,
    exceptions: {
      // results stay
      'gateway/management/secrets/encrypted-file.ts': 1,
      'operator/cli/online/examine-online.ts': 1,
      'gateway/vmcp/transport/sse/sse-transport.ts': 1, // requests by id, which are never shared
    },
  },
  {
    name: 'serial queue',
    instead: 'SerialQueue or SerialQueues of gateway/kit/tasks.ts',
    copy: /#?\w+ = \w+\.catch\(\(\) => undefined\)|: Promise<(?:unknown|void)> = Promise\.resolve\(\)/gu,
    exceptions: {
      'gateway/authserver/storage/records-file.ts': 1, // changes during a write are written together
      'operator/controller/controller.ts': 1, // ends of earlier terms, beside each other
      'operator/controller/leader-election.ts': 1, // the present attempt
    },
  },
  {
    name: 'durable replacement of a file',
    instead: 'replaceFile, replaceFileSync or writeDraftSync of gateway/kit/files.ts',
    copy: /\brename(?:Sync)?\(|\bf?data?sync(?:Sync)?\(|\bfsync(?:Sync)?\(|\.sync\(\)/gu,
    exceptions: {
      'gateway/audit/outputs.ts': 1, // a log that grows
      'gateway/audit/output.ts': 1,
      'gateway/management/skills/files/change-folder.ts': 4, // whole folders
      'gateway/management/state/write-files.ts': 2, // several files as one step, which can be undone
      'gateway/workloads/runner/process/process-lock.ts': 1, // takes over a lock
      'gateway/workloads/store/local/output-log.ts': 1, // rotates a log
    },
  },
  {
    name: 'cache of a limited size',
    instead: 'setNewest, RecentlyUsed or ExpiringMap of gateway/kit/cache.ts',
    copy: /\.keys\(\)\.next\(\)|\b(?:const|let) \[?oldest\b|of [\w.#]+\.keys\(\)\) \{[^}]*\.delete\(/gu,
    exceptions: {
      'gateway/authserver/storage/memory-clients.ts': 1, // the store of clients decides by use
      'gateway/authserver/storage/memory-upstream-rows.ts': 1, // the set of a user's logins
      'gateway/policy/rate-limit/memory-buckets.ts': 1, // full buckets go first
      'gateway/vmcp/edge/modern/request-state.ts': 1, // a set
      'gateway/vmcp/transport/stdio/process-pool.ts': 1, // processes by their last use
      'gateway/vmcp/views/views.ts': 1, // a time
      'operator/apply/written-objects.ts': 1, // by age, not by number
      'operator/controller/queue.ts': 1, // by age, not by number
    },
  },
];

/** Returns the number of places in each file that look like a copy. */
function placesOf({ copy }: Pick<Mechanism, 'copy'>): Record<string, number> {
  const counts = sources.map(
    (file) => [file, readFileSync(join(root, file), 'utf8').match(copy)?.length ?? 0] as const,
  );
  return Object.fromEntries(counts.filter(([, count]) => count > 0).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

describe('mechanisms that every room needs are written once, in the kit', () => {
  it('reads all sources', () => {
    expect(sources.length).toBeGreaterThan(500);
  });

  it.each(MECHANISMS)('$name: another copy uses $instead, or is an exception with a reason', (mechanism) => {
    expect(placesOf(mechanism)).toEqual(mechanism.exceptions);
  });
});
