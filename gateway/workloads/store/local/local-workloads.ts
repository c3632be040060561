import { join } from 'node:path';
import type { RunConfig } from '../../../contract/run-config/run-config.ts';
import { OperationError } from '../../../http/endpoint/request-error.ts';
import type { Extracted } from '../../definition/kept-secrets.ts';
import type { NewWorkload } from '../../definition/settings.ts';
import type { EndpointDirectory, WorkloadEndpoint } from '../../services.ts';
import {
  derivedSettings,
  type WorkloadEdit,
  type FileWorkload,
  type WorkloadLogOptions,
  type Placed,
  type Workload,
  type Workloads,
} from '../../workloads.ts';
import { logTaken } from '../registry-defaults.ts';
import { LocalWorkload } from './local-workload.ts';
import type { OutputLog } from './output-log.ts';
import { Records, type WorkloadRecord } from './records.ts';
import type { RunningDeps } from './running-workload.ts';
import { Validation, type ValidationDeps } from './validation.ts';
import { SerialQueue } from '../../../kit/tasks.ts';

export interface LocalWorkloadsDeps extends Omit<RunningDeps, 'onCached'>, Omit<ValidationDeps, 'log'> {
  readonly stateDir: string;
  readonly directory: EndpointDirectory;
  /** Lists the workloads of files. A managed workload of the same name hides one. */
  readonly fromFiles: () => readonly FileWorkload[];
  /** ms since the epoch. */
  readonly now: () => number;
}

/** Workloads of this machine: processes and containers that vmcp starts, and remote servers. */
export class LocalWorkloads implements Workloads {
  readonly #deps: LocalWorkloadsDeps;
  readonly #records: Records;
  readonly #validation: Validation;
  readonly #workloads = new Map<string, LocalWorkload>();
  /** Names of workloads that are being created, and their ports. */
  readonly #reserved = new Map<string, number>();
  readonly #loaded: Promise<void>;
  readonly #placing = new SerialQueue();
  #closed = false;

  constructor(deps: LocalWorkloadsDeps) {
    this.#deps = deps;
    this.#records = new Records(deps.stateDir, deps.log);
    this.#validation = new Validation(deps);
    this.#loaded = this.#load();
    this.#loaded.catch((error: unknown) => {
      deps.log.error('workloads not loaded', { error: String(error) });
    });
  }

  /** Lists the URLs of workloads that run, with their groups. */
  endpoints(): WorkloadEndpoint[] {
    return [...this.#workloads.values()].flatMap((workload) => {
      const { config, url } = workload.view();
      return workload.isRunning ? [{ name: config.name ?? '', url, group: config.group ?? '' }] : [];
    });
  }

  async list(): Promise<readonly Workload[]> {
    await this.#loaded;
    const others = this.#deps.fromFiles().filter(({ workload }) => !this.#workloads.has(workload.config.name ?? ''));
    return [...[...this.#workloads.values()].map((one) => one.view()), ...others.map(({ workload }) => workload)];
  }

  async get(name: string): Promise<Workload> {
    await this.#loaded;
    return this.#fileWorkload(name)?.workload ?? (await this.#find(name)).view();
  }

  async create(request: NewWorkload, signal: AbortSignal): Promise<Placed> {
    await this.#loaded;
    await this.#workloads.get(request.name)?.removal();
    this.#free(request.name);
    const { extracted, from } = await this.#validation.newConfig(request);
    const placed = await this.#add(extracted, signal, 'strict');
    return { ...placed, ...(from && { from_registry: from }) };
  }

  async import(config: RunConfig, signal: AbortSignal): Promise<Placed> {
    await this.#loaded;
    await this.#workloads.get(config.name ?? '')?.removal();
    this.#free(config.name ?? '');
    return this.#add(await this.#validation.imported(config), signal, 'lenient');
  }

  async edit(name: string, edit: WorkloadEdit, signal: AbortSignal): Promise<Placed> {
    const workload = await this.#find(name);
    return workload.exclusively(async () => {
      const before = workload.config;
      const { settings, from } = derivedSettings(edit, before);
      if (from) logTaken(this.#deps.log, name, from);
      const edited = await this.#validation.edited(name, settings, before, workload.storedConfigs);
      const { config, values } = edited;
      if (config.host !== before.host) await this.#validation.checkHost(config);
      if (config.port !== before.port || config.host !== before.host)
        await this.#validation.checkPort(config, this.#ports(name));
      await this.#validation.prepare(edited, signal);
      await this.#validation.checkGroup(config);
      if (workload.isRemoved) throw new OperationError('workload_not_found');
      await this.#deps.secrets.keep(name, values);
      await workload.setConfig(config);
      return { name, port: workload.config.port ?? 0, ...(from && { from_registry: from }) };
    });
  }

  stop(names: readonly string[]): Promise<void> {
    return this.#each(names, (workload) => workload.setDesired('stopped'));
  }

  start(names: readonly string[]): Promise<void> {
    return this.#each(names, (workload) => workload.setDesired('running'));
  }

  restart(names: readonly string[]): Promise<void> {
    return this.#each(names, (workload) => workload.restart());
  }

  remove(names: readonly string[]): Promise<void> {
    return this.#each(names, (workload) => workload.setDesired('removed'));
  }

  async logs(name: string, options: WorkloadLogOptions): Promise<readonly string[]> {
    return (await this.#outputOf(name, options)).read(options);
  }

  async follow(name: string, options: WorkloadLogOptions, signal: AbortSignal): Promise<AsyncIterable<string>> {
    return (await this.#outputOf(name, options)).follow(options, signal);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#loaded.catch(() => undefined);
    await Promise.all([...this.#workloads.values()].map((workload) => workload.close()));
  }

  async #load(): Promise<void> {
    for (const [name, record] of await this.#records.load()) this.#open(name, record);
    for (const workload of this.#workloads.values()) workload.resume();
  }

  #open(name: string, record: WorkloadRecord): LocalWorkload {
    const workload = new LocalWorkload(name, record, {
      ...this.#deps,
      records: this.#records,
      logDir: join(this.#deps.stateDir, 'logs', name),
      onGone: () => {
        if (this.#workloads.get(name) === workload) this.#workloads.delete(name);
      },
    });
    this.#workloads.set(name, workload);
    return workload;
  }

  async #add({ config, values }: Extracted, signal: AbortSignal, mode: 'strict' | 'lenient'): Promise<Placed> {
    const name = config.name ?? '';
    this.#free(name);
    this.#reserved.set(name, 0);
    try {
      await this.#validation.checkHost(config);
      const port = await this.#reservePort(name, config);
      const placed: RunConfig = { ...config, port };
      if (mode === 'strict') await this.#validation.prepareBriefly({ config: placed, values }, signal);
      await this.#validation.checkGroup(config); // it may have been deleted meanwhile
      await this.#deps.secrets.keep(name, values);
      await this.#store(name, { run_config: placed, desired: 'running', created_at: this.#time() });
      return { name, port };
    } finally {
      this.#reserved.delete(name);
    }
  }

  /** Chooses ports one after the other, so that two workloads never get the same one. */
  #reservePort(name: string, config: RunConfig): Promise<number> {
    return this.#placing.run(async () => {
      const port = await this.#validation.choosePort(config, this.#ports(name));
      this.#reserved.set(name, port);
      return port;
    });
  }

  /** Stores and starts a new workload. It replaces one in the state `error`, which stays if it cannot be stored. */
  async #store(name: string, record: WorkloadRecord): Promise<void> {
    const present = this.#workloads.get(name);
    if (present && present.view().status !== 'error') throw new OperationError('workload_exists');
    const replaced = await present?.replace();
    try {
      await this.#records.write(name, record);
    } catch (error) {
      if (replaced) this.#open(name, replaced).resume();
      throw error;
    }
    if (!this.#closed) this.#open(name, record).resume(); // else the next start of vmcp starts it
  }

  /** Throws `workload_exists`. A workload with the status `error` can be replaced. */
  #free(name: string): void {
    const same = [...this.#workloads.keys(), ...this.#reserved.keys()].find(
      (other) => other.toLowerCase() === name.toLowerCase(), // as file systems compare names
    );
    if (same === undefined && !this.#fileWorkload(name)) {
      this.#refuseDamaged(name);
      return;
    }
    if (same === undefined) throw new OperationError('workload_exists');
    const present = this.#workloads.get(same);
    if (same !== name || present?.view().status !== 'error') throw new OperationError('workload_exists');
  }

  /** Throws `workload_exists` when there is a record that could not be read: it may be all that is left of a workload. */
  #refuseDamaged(name: string): void {
    const path = this.#records.fileOf(name);
    if (path === undefined) return;
    const message = `the record of "${name}" in ${path} is damaged: correct it and restart vmcp, or delete it`;
    throw new OperationError('workload_exists', message);
  }

  /** Ports of the other workloads, also of those that are stopped. */
  #ports(name: string): ReadonlySet<number> {
    const others = [...this.#workloads.entries()].filter(([other]) => other !== name);
    return new Set([...others.map(([, { config }]) => config.port ?? 0), ...this.#reserved.values()]);
  }

  async #find(name: string): Promise<LocalWorkload> {
    await this.#loaded;
    this.#refuseFileWorkload(name);
    const workload = this.#workloads.get(name);
    if (!workload || workload.isRemoved) throw new OperationError('workload_not_found');
    return workload;
  }

  async #outputOf(name: string, { source }: WorkloadLogOptions): Promise<OutputLog> {
    await this.#loaded;
    const found = this.#fileWorkload(name);
    if (!found) return (await this.#find(name)).outputOf(source);
    throw new OperationError(
      'managed_by_files',
      `${found.place} describes "${name}": its lines are in the log of vmcp up`,
    );
  }

  #fileWorkload(name: string): FileWorkload | undefined {
    if (this.#workloads.has(name)) return undefined;
    return this.#deps.fromFiles().find(({ workload }) => workload.config.name === name);
  }

  #refuseFileWorkload(name: string): void {
    const found = this.#fileWorkload(name);
    if (found)
      throw new OperationError('managed_by_files', `${found.place} describes "${name}": edit that file instead`);
  }

  async #each(names: readonly string[], apply: (workload: LocalWorkload) => Promise<void>): Promise<void> {
    await this.#loaded;
    for (const name of names) this.#refuseFileWorkload(name);
    const known = [...new Set(names)].flatMap((name) => this.#workloads.get(name) ?? []);
    await Promise.all(known.map(apply));
  }

  #time(): string {
    return new Date(this.#deps.now()).toISOString();
  }
}
