import { isDeepStrictEqual } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunConfig } from '../../../contract/run-config/run-config.ts';
import type { EndpointDirectory, WorkloadEndpoint } from '../../services.ts';
import { OperationError } from '../../../http/endpoint/request-error.ts';
import { statusOf, clientUrlOf } from '../../definition/status.ts';
import type { WorkloadLogOptions, Workload } from '../../workloads.ts';
import type { Cached } from '../../remote-login/stored-record.ts';
import { faultSentence } from './fault-sentence.ts';
import { withCopy, OutputLog } from './output-log.ts';
import type { Records, WorkloadRecord } from './records.ts';
import { RunningWorkload, type RunningDeps } from './running-workload.ts';
import { isSameConfig, withoutCached } from './workload-login.ts';
import { SerialQueue } from '../../../kit/tasks.ts';

interface LocalWorkloadDeps extends Omit<RunningDeps, 'onCached'> {
  readonly records: Records;
  /** Folder of its log files. */
  readonly logDir: string;
  readonly now: () => number;
  readonly directory: EndpointDirectory;
  /** Called when nothing of the workload is left. */
  readonly onGone: () => void;
}

/** Pause before the next try to stop or delete. */
const RETRY_MS = 1_000;
/** Time of a workload that never ran, and of remote servers. */
const NEVER = '0001-01-01T00:00:00Z';

/**
 * One workload of this machine. Requests change its record; a single loop in the background brings the listener and the
 * server to the record, so that any sequence of requests ends in the last desired state.
 */
export class LocalWorkload {
  readonly #outputs: Readonly<Record<WorkloadLogOptions['source'], OutputLog>>;
  readonly #name: string;
  readonly #deps: LocalWorkloadDeps & RunningDeps;
  #record: WorkloadRecord;
  #running: RunningWorkload | undefined;
  /** Endpoint in the configuration files of clients. */
  #published: WorkloadEndpoint | undefined;
  #fault: string | undefined;
  #undone: string | undefined;
  /** Number of restarts that were requested, and that of the running listener. */
  #restarts = 0;
  #applied = 0;
  #loop: Promise<void> | undefined;
  #isLooping = false;
  /** True from a stop until the server, and its container, are gone. */
  #isEnding = false;
  #closed = false;
  /** True once its record belongs to another workload, or to none. */
  #isGone = false;
  readonly #changes = new SerialQueue();
  readonly #writes = new SerialQueue();

  constructor(name: string, record: WorkloadRecord, deps: LocalWorkloadDeps) {
    this.#name = name;
    this.#record = record;
    const { logDir, now, log } = deps;
    const proxy = new OutputLog(`${logDir}/proxy.log`, now);
    this.#outputs = { server: new OutputLog(`${logDir}/server.log`, now), proxy };
    this.#deps = {
      ...deps,
      log: withCopy(log, (line) => {
        proxy.append(line);
      }),
      onCached: (cached) => this.#update((record) => withCached(record, cached)),
    };
  }

  outputOf(source: WorkloadLogOptions['source']): OutputLog {
    return this.#outputs[source];
  }

  get config(): RunConfig {
    return this.#record.run_config;
  }

  /** The settings, and those before an edit that has not proved to run yet. */
  get storedConfigs(): RunConfig[] {
    const { run_config: config, previous } = this.#record;
    return previous ? [config, previous] : [config];
  }

  get isRunning(): boolean {
    return this.#running !== undefined && this.#record.desired === 'running';
  }

  get isRemoved(): boolean {
    return this.#isGone || this.#record.desired === 'removed';
  }

  view(): Workload {
    const { run_config: config, desired, created_at, started_at } = this.#record;
    const port = this.#running?.port ?? config.port ?? 0;
    const login = this.#running?.login();
    const status = statusOf({
      desired,
      isEnding: this.#isEnding,
      ...(this.#running && { served: this.#running.state() }),
      ...(login && { login }),
      ...(this.#fault !== undefined && { fault: this.#fault }),
      ...(this.#undone !== undefined && { undone: this.#undone }),
    });
    const startedAt = config.remote_url ? NEVER : (started_at ?? NEVER);
    return { ...status, config, created_at, started_at: startedAt, port, url: clientUrlOf(config, port) };
  }

  /** Runs changes of the settings one after the other. */
  exclusively<Result>(run: () => Promise<Result>): Promise<Result> {
    return this.#changes.run(run);
  }

  /** Stores new settings. The old ones stay in the record until the new ones have run. Throws `workload_not_found`. */
  async setConfig(config: RunConfig): Promise<void> {
    if (this.isRemoved) throw new OperationError('workload_not_found');
    if (isSameConfig(config, this.config)) return;
    await this.#update((record) => {
      if (record.desired === 'removed') throw new OperationError('workload_not_found');
      return { ...record, run_config: config, previous: record.previous ?? record.run_config };
    });
    this.#undone = undefined;
    this.#fault = undefined;
    this.resume();
  }

  async setDesired(desired: WorkloadRecord['desired']): Promise<void> {
    await this.#update((record) =>
      record.desired === 'removed' || record.desired === desired ? record : { ...record, desired },
    );
    this.#fault = undefined;
    this.resume();
  }

  async restart(): Promise<void> {
    await this.setDesired('running');
    if (this.isRemoved) return;
    this.#restarts += 1;
    this.#fault = undefined;
    this.resume();
  }

  /** Ends everything of a workload that another one replaces under the same name. Returns its last record. */
  async replace(): Promise<WorkloadRecord> {
    await this.close();
    this.#isGone = true;
    await this.#writes.ended();
    for (const output of Object.values(this.#outputs)) output.remove();
    return this.#record;
  }

  /** Stops the listener and the server. The record stays, for the next start of vmcp. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running?.interrupt();
    await this.#loop;
    await this.#running?.stop();
    this.#running = undefined;
    for (const output of Object.values(this.#outputs)) output.close();
  }

  /** Resolves when a workload that is being removed is gone; at once for another. */
  async removal(): Promise<void> {
    if (this.isRemoved) await this.#loop;
  }

  /** Starts the loop if it does not run. */
  resume(): void {
    if (this.#isLooping) return;
    this.#isLooping = true;
    this.#loop = this.#converge();
  }

  async #converge(): Promise<void> {
    while (!this.#closed && !this.#isSettled()) {
      const { run_config: tried } = this.#record;
      const restarts = this.#restarts;
      try {
        if (this.isRemoved) await this.#removeAll();
        else await this.#step();
      } catch (error) {
        const sentence = faultSentence(error);
        if (sentence !== this.#fault)
          this.#deps.log.warn('workload not changed', { workload: this.#name, error: messageOf(error) });
        // a fault of settings that were replaced meanwhile says nothing about the new ones
        if (restarts === this.#restarts && isSameConfig(tried, this.config)) this.#fault = sentence;
        if (this.#record.desired !== 'running') await sleep(RETRY_MS);
      }
    }
    this.#isLooping = false; // in the same turn as the check: a change after it starts the loop again
  }

  #isSettled(): boolean {
    const { desired, run_config } = this.#record;
    if (desired === 'removed') return false;
    if (desired === 'stopped') return this.#running === undefined && !this.#isEnding;
    if (this.#fault !== undefined) return true;
    return (
      this.#running !== undefined && this.#applied === this.#restarts && isSameConfig(this.#running.config, run_config)
    );
  }

  async #step(): Promise<void> {
    const running = this.#running;
    if (this.#record.desired === 'stopped') await this.#stop();
    else if (running && this.#applied !== this.#restarts) {
      await running.stop();
      this.#running = undefined;
    } else if (running) await this.#swap(running);
    else await this.#start();
  }

  /** Stops the listener and the server. Throws while a container of it may still exist. */
  async #stop(): Promise<void> {
    this.#isEnding = true;
    await this.#running?.stop();
    this.#running = undefined;
    await this.#publish(undefined);
    if (!(await this.#deps.launcher.removeContainers(this.#name)))
      throw new Error('the container engine does not respond: start it, and the container is removed');
    this.#isEnding = false;
    this.#fault = undefined;
  }

  async #start(): Promise<void> {
    const { run_config: config } = this.#record;
    this.#applied = this.#restarts;
    this.#isEnding = false;
    this.#running = await RunningWorkload.start(config, this.#outputs.server, this.#deps);
    const startedAt = new Date(this.#deps.now()).toISOString();
    await this.#note((record) => ({ ...confirmed(record, config), started_at: startedAt }));
    await this.#publish(this.#endpoint());
  }

  #endpoint(): WorkloadEndpoint {
    const { config, url } = this.view();
    return { name: this.#name, url, group: config.group ?? '' };
  }

  /** Keeps the entry of the workload in the files of clients; undefined removes it. */
  async #publish(endpoint: WorkloadEndpoint | undefined): Promise<void> {
    const before = this.#published;
    if (isDeepStrictEqual(before, endpoint)) return;
    this.#published = endpoint;
    const { directory, log } = this.#deps;
    const problems = [
      ...(before ? await directory.withdraw(before) : []),
      ...(endpoint ? await directory.publish(endpoint) : []),
    ];
    for (const problem of problems) log.warn('configuration of a client not changed', { error: problem });
  }

  /** Stores what has happened. A full disk does not end what runs: the next start of vmcp finds the older record. */
  async #note(change: (record: WorkloadRecord) => WorkloadRecord): Promise<void> {
    try {
      await this.#update(change);
    } catch (error) {
      this.#deps.log.warn('record of workload not stored', { workload: this.#name, error: faultSentence(error) });
    }
  }

  async #swap(running: RunningWorkload): Promise<void> {
    const { run_config: next } = this.#record;
    try {
      await running.swap(next);
      await this.#note((record) => confirmed(record, next));
      await this.#publish(this.#endpoint());
    } catch (error) {
      if (this.#closed) return; // the next start of vmcp continues with the edit
      if (!isSameConfig(next, this.config)) return; // a later edit replaces the one that failed
      this.#deps.log.warn('edit of workload undone', { workload: this.#name, error: messageOf(error) });
      await this.#update(({ previous, ...record }) =>
        isSameConfig(record.run_config, next) ? { ...record, run_config: previous ?? running.config } : { ...record },
      );
      this.#undone = `the last edit was undone: ${faultSentence(error)}`; // once the record says so, too
    }
  }

  async #removeAll(): Promise<void> {
    this.#published ??= this.#endpoint(); // an earlier process may have written the entry
    await this.#publish(undefined);
    await this.#stop();
    for (const output of Object.values(this.#outputs)) output.remove();
    await this.#deps.secrets.forget(this.#name);
    for (const key of ['a', 'b']) this.#deps.ports.forget(`workloads/${this.#name}/${key}`);
    this.#isGone = true;
    await this.#writes.ended();
    await this.#deps.records.remove(this.#name);
    this.#closed = true;
    this.#deps.onGone();
  }

  /** Changes the record, one change after the other. It is stored before it takes effect. */
  #update(change: (record: WorkloadRecord) => WorkloadRecord): Promise<void> {
    return this.#writes.run(async () => {
      const next = change(this.#record);
      if (next === this.#record || this.#isGone) return;
      await this.#deps.records.write(this.#name, next);
      this.#record = next;
    });
  }
}

/** Forgets the settings before an edit that has proved to run, unless a later edit has replaced it. */
function confirmed(record: WorkloadRecord, config: RunConfig): WorkloadRecord {
  if (record.previous === undefined || !isSameConfig(record.run_config, config)) return record;
  const { previous: _confirmed, ...others } = record;
  return others;
}

/** Returns the record with what the login caches. */
function withCached(record: WorkloadRecord, cached: Cached): WorkloadRecord {
  const bare = withoutCached(record.run_config);
  return { ...record, run_config: { ...bare, remote_auth_config: { ...bare.remote_auth_config, ...cached } } };
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
