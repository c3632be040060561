import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from '../kube/client.ts';
import { OWN_API_VERSION, ownType, type KubeObject } from '../kube/resource.ts';
import type { After } from '../vmcp/clock.ts';
import type { ReportedBackend, RuntimeProblem, StatusReport } from '../vmcp/status.ts';
import type { Logger } from '../contract/logger.ts';

export interface StatusReporterOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  /** The VirtualMCPServer. */
  readonly name: string;
  /** Shortest time between two writes. */
  readonly intervalMs: number;
  readonly report: () => StatusReport;
  /** Every backend has been probed; without that a report waits for a while. */
  readonly isProbed: () => boolean;
  /** Every backend is well; the very first report waits a while for it. */
  readonly isWell: () => boolean;
  readonly log: Logger;
  readonly now: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly after: After;
}

const VIRTUAL_MCP_SERVER = ownType('VirtualMCPServer');

type VirtualMCPServer = KubeObject & { readonly status?: Partial<StatusReport> };

/** The owner of what we write, shared by all pods of a server; what the operator writes has another one. */
const FIELD_MANAGER = 'vmcp-gateway';
const LOOK_EVERY_MS = 1_000;
const FIRST_RETRY_MS = 1_000;
const FIRST_PROBES_MS = 30_000;
/** Servers that were applied together with this one start meanwhile. */
const FIRST_REPORT_MS = 15_000;
/** A view that has stood for so many intervals, and up to half as many more, is held against what others have written. */
const INTERVALS_BEFORE_COMPARING = 4;
/** An object in etcd has its limit; whoever has so many problems reads the first ones first. */
const MOST_PROBLEMS = 50;
const LONGEST_MESSAGE = 1_000;

/**
 * Writes what this pod sees into the status of its VirtualMCPServer: when something of it is another than at its last
 * write, no more often than the interval, and only if it does not stand there already. Where pods disagree, the one
 * whose view changed last is read, until another pod finds after a while that its own view still stands.
 */
export class StatusReporter {
  readonly #options: StatusReporterOptions;
  /** The object that we report on; one that was made anew under its name has other pods. */
  #uid: string | undefined;
  #written: object | undefined;
  #seen: object | undefined;
  #compareAt = 0;
  #notBefore = 0;
  #startedAt = 0;
  /** Since when some backend has not been probed. */
  #unprobedSince: number | undefined;
  #failures = 0;
  #looking: Promise<void> | undefined;
  #cancelTimer: () => void = () => undefined;
  #closed = false;

  constructor(options: StatusReporterOptions) {
    this.#options = options;
  }

  /** What stands there already is taken as our own: a pod that finds nothing to add writes nothing. */
  start(): void {
    if (this.#looking || this.#closed) return;
    this.#startedAt = this.#options.now();
    this.#looking = this.#adopt().then(() => this.#look());
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelTimer();
    await this.#looking;
  }

  async #adopt(): Promise<void> {
    try {
      const { status } = await this.#readLive();
      if (status?.backendCount !== undefined) this.#written = substanceOf(status);
    } catch (error) {
      this.#options.log.debug('status not read', { error: String(error) });
    }
  }

  async #readLive(): Promise<VirtualMCPServer> {
    const { client, namespace, name } = this.#options;
    const live = await client.get<VirtualMCPServer>(VIRTUAL_MCP_SERVER, namespace, name);
    if (!live) throw new Error(`VirtualMCPServer "${name}" does not exist`);
    this.#uid ??= live.metadata.uid;
    if (live.metadata.uid !== this.#uid) throw new Error(`VirtualMCPServer "${name}" was made anew: it has other pods`);
    return live;
  }

  async #look(): Promise<void> {
    const { now, after, intervalMs } = this.#options;
    if (!this.#isEarly() && now() >= this.#notBefore) await this.#write();
    if (this.#closed) return;
    this.#cancelTimer = after(Math.min(LOOK_EVERY_MS, intervalMs), () => {
      this.#looking = this.#look();
    });
  }

  /** What a backend is like will be known in a moment: two reports are not better than one. */
  #isEarly(): boolean {
    const { now, isProbed, isWell } = this.#options;
    if (this.#written === undefined && !isWell() && now() < this.#startedAt + FIRST_REPORT_MS) return true;
    this.#unprobedSince = isProbed() ? undefined : (this.#unprobedSince ?? now());
    return this.#unprobedSince !== undefined && now() < this.#unprobedSince + FIRST_PROBES_MS;
  }

  async #write(): Promise<void> {
    const { report, log, now, intervalMs } = this.#options;
    try {
      const status = bounded(report());
      const substance = substanceOf(status);
      if (this.#closed || !this.#isDue(substance)) return;
      const live = await this.#readLive();
      if (!isDeepStrictEqual(substance, substanceOf(live.status ?? {}))) {
        await this.#apply(status, live);
        this.#notBefore = now() + intervalMs;
      }
      if (this.#failures > 0) log.info('status is reported again', { failures: this.#failures });
      this.#written = substance;
      this.#failures = 0;
      this.#compareLater();
    } catch (error) {
      this.#failures += 1;
      this.#notBefore = now() + Math.min(FIRST_RETRY_MS * 2 ** Math.min(this.#failures - 1, 10), intervalMs);
      log[this.#failures === 1 ? 'warn' : 'debug']('status not reported: it is tried again', { error: String(error) });
    }
  }

  /** Another view than the last one that was written, or one that has stood for long. */
  #isDue(substance: object): boolean {
    if (!isDeepStrictEqual(substance, this.#seen)) {
      this.#seen = substance;
      this.#compareLater();
    }
    return !isDeepStrictEqual(substance, this.#written) || this.#options.now() >= this.#compareAt;
  }

  #compareLater(): void {
    const { now, random, intervalMs } = this.#options;
    this.#compareAt = now() + intervalMs * INTERVALS_BEFORE_COMPARING * (1 + random() / 2);
  }

  /** For the status of a custom resource only `resourceVersion` makes sure of the object: its uid is not looked at. */
  async #apply(status: Partial<StatusReport>, { metadata: { resourceVersion } }: VirtualMCPServer): Promise<void> {
    const { client, namespace, name } = this.#options;
    if (this.#closed) return;
    const { kind } = VIRTUAL_MCP_SERVER;
    const metadata = { name, namespace, ...(resourceVersion !== undefined && { resourceVersion }) };
    await client.apply(
      { apiVersion: OWN_API_VERSION, kind, metadata, status },
      { fieldManager: FIELD_MANAGER, force: true, subresource: 'status' },
    );
  }
}

/** No problems are no field, so that the apply takes away what stood there. */
function bounded({ discoveredBackends, backendCount, runtimeProblems }: StatusReport): Partial<StatusReport> {
  const problems = runtimeProblems.slice(0, MOST_PROBLEMS).map(({ reason, path, message }) => ({
    reason,
    ...(path !== undefined && { path }),
    message: message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE)}…` : message,
  }));
  return { discoveredBackends, backendCount, ...(problems.length > 0 && { runtimeProblems: problems }) };
}

/** A report without what changes at every probe: only for another one of these is it written. */
const substanceOf = ({
  discoveredBackends = [],
  backendCount,
  runtimeProblems = [],
}: Partial<StatusReport>): object => ({
  backendCount,
  backends: discoveredBackends.map(backendSubstance),
  problems: runtimeProblems.map(({ reason, path, message }: RuntimeProblem) => [reason, path, message]),
});

const backendSubstance = (backend: ReportedBackend): unknown[] => [
  backend.name,
  backend.url,
  backend.status,
  backend.authType,
  backend.mcpRevision,
  backend.message,
  backend.circuitBreakerState,
];
