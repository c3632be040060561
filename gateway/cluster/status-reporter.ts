import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from '../kube/client.ts';
import { OWN_API_VERSION, ownType, type KubeObject } from '../kube/resource.ts';
import type { After } from '../kit/time.ts';
import type { ReportedBackend, RuntimeProblem, StatusReport } from '../vmcp/status.ts';
import type { Logger } from '../contract/logger.ts';
import { backoffMs } from '../kit/time.ts';

export interface StatusReporterOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  /** The VirtualMCPServer. */
  readonly name: string;
  /** Shortest time between two writes. */
  readonly intervalMs: number;
  readonly report: () => StatusReport;
  /** Returns true when every backend has been probed; until then a report waits for a while. */
  readonly isProbed: () => boolean;
  /** Returns true when every backend is healthy; the first report waits a while for that. */
  readonly isWell: () => boolean;
  readonly log: Logger;
  readonly now: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly after: After;
}

const VIRTUAL_MCP_SERVER = ownType('VirtualMCPServer');

type VirtualMCPServer = KubeObject & { readonly status?: Partial<StatusReport> };

/** Field manager of our writes, shared by all pods of a server; the operator uses another one. */
const FIELD_MANAGER = 'vmcp-gateway';
const LOOK_EVERY_MS = 1_000;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 1_024_000;
const FIRST_PROBES_MS = 30_000;
/** Longest wait for the first report: servers that were applied together with this one start in this time. */
const FIRST_REPORT_MS = 15_000;
/** A view that is unchanged for this many intervals, plus up to half as many, is compared with the stored status. */
const INTERVALS_BEFORE_COMPARING = 4;
/** Most problems that are written: etcd limits the size of an object. */
const MOST_PROBLEMS = 50;
const LONGEST_MESSAGE = 1_000;

/**
 * Writes this pod's view into the status of its VirtualMCPServer: when it differs from the last
 * write, at most once per interval, and only if the status differs. When pods disagree, the view that
 * changed last wins, until another pod finds after a while that its own view is unchanged.
 */
export class StatusReporter {
  readonly #options: StatusReporterOptions;
  /** UID of the reported object; a recreated object of this name has other pods. */
  #uid: string | undefined;
  #written: object | undefined;
  #seen: object | undefined;
  #compareAt = 0;
  #notBefore = 0;
  #startedAt = 0;
  /** Time since which some backend has not been probed. */
  #unprobedSince: number | undefined;
  #failures = 0;
  #looking: Promise<void> | undefined;
  #cancelTimer: () => void = () => undefined;
  #closed = false;

  constructor(options: StatusReporterOptions) {
    this.#options = options;
  }

  /** Treats the stored status as our own: a pod with nothing to add writes nothing. */
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

  /** Waits until backends have been probed, so that one report is enough. */
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
      this.#notBefore = now() + backoffMs(this.#failures, FIRST_RETRY_MS, Math.min(LONGEST_RETRY_MS, intervalMs));
      log[this.#failures === 1 ? 'warn' : 'debug']('status not reported: it is tried again', { error: String(error) });
    }
  }

  /** Returns true for a view that differs from the last written one, or that has not changed for long. */
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

  /** Sends `resourceVersion`: for the status of a custom resource the API server does not check the UID. */
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

/** Omits the field without problems, so that the apply removes the stored ones. */
function bounded({ discoveredBackends, backendCount, runtimeProblems }: StatusReport): Partial<StatusReport> {
  const problems = runtimeProblems.slice(0, MOST_PROBLEMS).map(({ reason, path, message }) => ({
    reason,
    ...(path !== undefined && { path }),
    message: message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE)}…` : message,
  }));
  return { discoveredBackends, backendCount, ...(problems.length > 0 && { runtimeProblems: problems }) };
}

/** Returns the report without members that change at every probe; only other changes cause a write. */
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
