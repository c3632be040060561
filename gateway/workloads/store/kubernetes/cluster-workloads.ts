import type { RunConfig } from '../../../contract/run-config/run-config.ts';
import { OperationError } from '../../../http/endpoint/request-error.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { ownType } from '../../../kube/resource.ts';
import { withoutMiddlewares } from '../../definition/middlewares.ts';
import type { FromRegistry } from '../../definition/entry/registry-entry.ts';
import { runConfigOf } from '../../definition/run-config-of.ts';
import type { NewWorkload, WorkloadSettings } from '../../definition/settings.ts';
import {
  derivedSettings,
  type WorkloadEdit,
  type WorkloadLogOptions,
  type Placed,
  type Workload,
  type Workloads,
} from '../../workloads.ts';
import { logTaken, withRegistryDefaults, type RegistryDefaultsDeps } from '../registry-defaults.ts';
import { asOperation, refusalOf } from './api-failure.ts';
import { checkName, desiredWorkload, withDefaults } from './desired-workload.ts';
import { editObject } from './edit-object.ts';
import { ObjectCache, type ObjectCacheOptions } from './object-cache.ts';
import { PodLogs } from './pod-logs.ts';
import { workloadOf, isScaledToNothing } from './state-of-object.ts';
import { Surroundings } from './surroundings.ts';
import {
  FIELD_MANAGER,
  manifestOf,
  WORKLOAD_KINDS,
  type ServerObject,
  type WorkloadObject,
  REPLICAS_BEFORE_STOP,
  RESTARTED_AT,
} from './workload-object.ts';
import { SerialQueues } from '../../../kit/tasks.ts';

/** Returns the merge patch that stops a server; undefined for a stopped server. */
export function stopPatch(server: ServerObject): object | undefined {
  if (isScaledToNothing(server)) return undefined;
  const { replicas } = server.spec;
  const before = replicas === undefined ? '' : String(replicas);
  return { metadata: { annotations: { [REPLICAS_BEFORE_STOP]: before } }, spec: { replicas: 0 } };
}

/** Returns the merge patch that starts a server with its previous number of pods; undefined for a running server. */
export function startPatch(server: ServerObject): object | undefined {
  if (!isScaledToNothing(server)) return undefined;
  return { metadata: { annotations: { [REPLICAS_BEFORE_STOP]: null } }, spec: { replicas: replicasToStart(server) } };
}

/** Returns the merge patch that replaces the pods of a server, or starts it. */
export function restartPatch(server: ServerObject, time: string): object {
  const start = isScaledToNothing(server);
  return {
    metadata: { annotations: { [RESTARTED_AT]: time, ...(start && { [REPLICAS_BEFORE_STOP]: null }) } },
    ...(start && { spec: { replicas: replicasToStart(server) } }),
  };
}

/** Returns null to remove the field, which lets an autoscaler or the default decide. */
function replicasToStart({ metadata, spec }: ServerObject): number | null {
  const before = metadata.annotations?.[REPLICAS_BEFORE_STOP];
  if (before === '' && spec.backendReplicas !== 0) return null;
  return Math.max(1, Math.trunc(Number(before ?? 1)) || 1);
}

export interface ClusterWorkloadsOptions extends ObjectCacheOptions, Pick<RegistryDefaultsDeps, 'findServer'> {
  /** Namespaces that are served. New workloads live in the first one. */
  readonly namespaces: readonly [string, ...string[]];
  /** ms since the epoch. */
  readonly now: () => number;
}

/** Workloads of a cluster: MCPServers, and MCPServerEntries for remote servers. The operator runs them. */
export class ClusterWorkloads implements Workloads {
  readonly #client: KubeClient;
  readonly #home: string;
  readonly #registry: RegistryDefaultsDeps;
  readonly #now: () => number;
  readonly #cache: ObjectCache;
  readonly #logs: PodLogs;
  readonly #surroundings: Surroundings;
  readonly #turns = new SerialQueues();
  readonly #converted = new WeakMap<WorkloadObject, Workload>();
  readonly #closing = new AbortController();

  constructor(options: ClusterWorkloadsOptions) {
    this.#client = options.client;
    this.#home = options.namespaces[0];
    this.#registry = options;
    this.#now = options.now;
    this.#cache = new ObjectCache(options);
    this.#logs = new PodLogs(options.client);
    this.#surroundings = new Surroundings(options.client);
  }

  async list(): Promise<readonly Workload[]> {
    await this.#cache.ready();
    return this.#cache.all().map((object) => this.#workloadOf(object));
  }

  async get(name: string): Promise<Workload> {
    return this.#workloadOf(await this.#require(name));
  }

  async create(request: NewWorkload, signal: AbortSignal): Promise<Placed> {
    const { settings, from } = await withRegistryDefaults(request, this.#registry);
    const { isolate_network: _default, ...config } = runConfigOf(request.name, settings);
    // Isolation is the default of containers on one machine only.
    const isIsolated = settings.network_isolation === true;
    const named = from && { registry_server_name: from.server };
    const placed = await this.import({ ...config, ...named, ...(isIsolated && { isolate_network: true }) }, signal);
    return { ...placed, ...(from && { from_registry: from }) };
  }

  async import(given: RunConfig, signal: AbortSignal): Promise<Placed> {
    const { config: typed, problems } = withoutMiddlewares(given);
    if (problems.length > 0) throw refusalOf(problems);
    const config = withDefaults(typed);
    checkName(config);
    const { name = '' } = config;
    return this.#inTurn(name, async () => {
      const desired = desiredWorkload(config);
      await this.#requireAbsent(name);
      await this.#surroundings.require(desired, this.#home);
      const { kind, spec, annotations = {} } = desired;
      const manifest = manifestOf(kind, { name, namespace: this.#home, annotations }, { ...spec });
      const options = { fieldManager: FIELD_MANAGER, force: false, signal };
      const created = await this.#client.apply<WorkloadObject>(manifest, options);
      await this.#cache.shows(created);
      return this.#placed(created);
    });
  }

  async edit(name: string, edit: WorkloadEdit, signal: AbortSignal): Promise<Placed> {
    return this.#inTurn(name, async () => {
      let from: FromRegistry | undefined;
      const written = await editObject(await this.#fresh(name), {
        change: (stored) => {
          const derived = derivedSettings(edit, stored);
          ({ from } = derived);
          if (from) logTaken(this.#registry.log, name, from);
          return editedConfig(stored, derived.settings);
        },
        client: this.#client,
        surroundings: this.#surroundings,
        signal,
      });
      await this.#cache.shows(written);
      return { ...this.#placed(written), ...(from && { from_registry: from }) };
    });
  }

  async stop(names: readonly string[]): Promise<void> {
    await this.#cache.ready();
    const remote = names.find((name) => this.#cache.find(name)?.kind === 'MCPServerEntry');
    if (remote !== undefined) {
      const message = `"${remote}" is a remote server, which a cluster does not stop: delete the workload`;
      throw new OperationError('invalid_workload', message);
    }
    await this.#patchEach(names, stopPatch);
  }

  async start(names: readonly string[]): Promise<void> {
    await this.#patchEach(names, startPatch);
  }

  async restart(names: readonly string[]): Promise<void> {
    const time = new Date(this.#now()).toISOString();
    await this.#patchEach(names, (server) => restartPatch(server, time));
  }

  async remove(names: readonly string[]): Promise<void> {
    await this.#each(names, async (object) => {
      const { namespace, name, uid } = object.metadata;
      const options = { propagationPolicy: 'Background', ...(uid !== undefined && { uid }) } as const;
      await this.#client.delete(ownType(object.kind), namespace, name, options);
      await this.#cache.showsDeleted(object);
    });
  }

  async logs(name: string, options: WorkloadLogOptions): Promise<readonly string[]> {
    const object = await this.#require(name);
    // A remote server writes its output elsewhere.
    return object.kind === 'MCPServer' ? this.#logs.read(object, options) : [];
  }

  async follow(name: string, options: WorkloadLogOptions, signal: AbortSignal): Promise<AsyncIterable<string>> {
    const object = await this.#require(name);
    const end = AbortSignal.any([signal, this.#closing.signal]);
    return object.kind === 'MCPServer' ? this.#logs.follow(object, options, end) : noLines();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#cache.close();
  }

  #workloadOf(object: WorkloadObject): Workload {
    const known = this.#converted.get(object);
    if (known) return known;
    const workload = workloadOf(object);
    this.#converted.set(object, workload);
    return workload;
  }

  #placed(object: WorkloadObject): Placed {
    return { name: object.metadata.name, port: workloadOf(object).port };
  }

  #inTurn<Result>(name: string, task: () => Promise<Result>): Promise<Result> {
    return this.#turns.run(name, () => asOperation(task));
  }

  /** Returns a known object. Throws `workload_not_found`. */
  async #require(name: string): Promise<WorkloadObject> {
    await this.#cache.ready();
    const object = this.#cache.find(name);
    if (!object) throw new OperationError('workload_not_found');
    return object;
  }

  /** Reads an object from the API server. Throws `workload_not_found`. */
  async #fresh(name: string): Promise<WorkloadObject> {
    const { kind, metadata } = await this.#require(name);
    const object = await this.#client.get<WorkloadObject>(ownType(kind), metadata.namespace, name);
    if (!object) throw new OperationError('workload_not_found');
    return object;
  }

  /** Throws `workload_exists`. Asks the API server too, which knows objects that the watches have not reported. */
  async #requireAbsent(name: string): Promise<void> {
    await this.#cache.ready();
    const options = { metadataOnly: true };
    const found = await Promise.all(
      WORKLOAD_KINDS.map((kind) => this.#client.get(ownType(kind), this.#home, name, options)),
    );
    const elsewhere = this.#cache.find(name)?.metadata.namespace;
    if (found.some((object) => object !== undefined) || (elsewhere !== undefined && elsewhere !== this.#home))
      throw new OperationError('workload_exists');
  }

  #patchEach(names: readonly string[], patchOf: (server: ServerObject) => object | undefined): Promise<void> {
    return this.#each(names, async (object) => {
      const patch = object.kind === 'MCPServer' ? patchOf(object) : undefined;
      if (patch === undefined) return;
      const { namespace, name } = object.metadata;
      const options = { fieldManager: FIELD_MANAGER };
      await this.#cache.shows(await this.#client.mergePatch(ownType(object.kind), namespace, name, patch, options));
    });
  }

  /** Runs a task for every object that exists, independently of the others. Throws the first failure at the end. */
  async #each(names: readonly string[], task: (object: WorkloadObject) => Promise<void>): Promise<void> {
    await this.#cache.ready();
    const results = await Promise.allSettled(
      [...new Set(names)].map((name) =>
        this.#inTurn(name, async () => {
          if (!this.#cache.find(name)) return;
          await task(await this.#fresh(name));
        }),
      ),
    );
    const failures = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason as unknown);
    const failure = failures.find((error) => !isGone(error));
    if (failure !== undefined) throw failure as Error;
  }
}

/** Merges settings over a run configuration. A server without a group keeps none. */
function editedConfig(stored: RunConfig, settings: WorkloadSettings): RunConfig {
  const { group, ...config } = runConfigOf(stored.name ?? '', settings, stored);
  const keepsNone = stored.group === undefined && settings.group === undefined;
  return { ...config, ...(!keepsNone && group !== undefined && { group }) };
}

/** Returns true when the workload was deleted meanwhile. */
const isGone = (error: unknown): boolean => error instanceof OperationError && error.code === 'workload_not_found';

async function* noLines(): AsyncGenerator<string, void> {
  // A remote server writes its output elsewhere.
}
