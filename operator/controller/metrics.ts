import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { KubeObject } from '../../gateway/kube/resource.ts';
import type { QueueHooks } from './queue.ts';

/** Result of a reconcile. `refused`: the API server rejected an object because of the spec; the user must correct it. */
export type ReconcileResult = 'success' | 'requeue' | 'refused' | 'error';

export interface OperatorMetrics {
  readonly contentType: string;
  readonly queue: QueueHooks;
  /** Counts a finished reconcile. */
  reconciled(controller: string, result: ReconcileResult, seconds: number): void;
  leading(isLeader: boolean): void;
  /** Returns all metrics in the text format of Prometheus. */
  text(): Promise<string>;
}

/** Condition types that express readiness, most important first. Earlier versions wrote no Ready for kinds without pods. */
const READY_TYPES = ['Ready', 'Valid', 'MCPServersChecked'];

interface StatusOf {
  readonly phase?: string;
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}

/** Returns the readiness by the conditions, or undefined while there is none, and for a resource without pods on purpose. */
export function readiness(object: KubeObject): boolean | undefined {
  const { phase, conditions = [] } = (object['status'] ?? {}) as StatusOf;
  const { replicas } = (object['spec'] ?? {}) as { readonly replicas?: number };
  if (replicas === 0 || phase === 'Stopped') return undefined;
  const found = READY_TYPES.flatMap((type) => conditions.filter((condition) => condition.type === type))[0];
  return found && found.status === 'True';
}

/**
 * Creates the metrics of the operator. Metrics about resources are computed at each scrape, so none outlives its object.
 * A standby reports none, because the leader reports them.
 * @param resources returns the current custom resources
 * @param controllers names of all controllers. Their counters start at 0, because Prometheus detects no increase from
 * an absent series to its first value.
 */
export function createMetrics(resources: () => Iterable<KubeObject>, controllers: readonly string[]): OperatorMetrics {
  const registry = new Registry();
  const registers = [registry];
  let isLeader = false;
  const leader = new Gauge({ name: 'leader_election_master_status', help: '1 while this process leads.', registers });
  for (const gauge of [phaseGauge, readyGauge]) gauge(registers, () => (isLeader ? resources() : []));
  leader.set(0);
  return {
    contentType: registry.contentType,
    queue: queueMetrics(registers),
    reconciled: reconcileMetrics(registers, controllers),
    leading(now) {
      isLeader = now;
      leader.set(now ? 1 : 0);
    },
    text: () => registry.metrics(),
  };
}

function reconcileMetrics(registers: Registry[], controllers: readonly string[]): OperatorMetrics['reconciled'] {
  const total = new Counter({
    name: 'reconcile_total',
    help: 'Reconciles by controller and result.',
    labelNames: ['controller', 'result'],
    registers,
  });
  const errors = new Counter({
    name: 'reconcile_errors_total',
    help: 'Reconciles that failed, by controller.',
    labelNames: ['controller'],
    registers,
  });
  for (const controller of controllers) errors.inc({ controller }, 0);
  const duration = new Histogram({
    name: 'reconcile_duration_seconds',
    help: 'Duration of reconciles.',
    labelNames: ['controller'],
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30],
    registers,
  });
  return (controller, result, seconds) => {
    total.inc({ controller, result });
    if (result === 'error') errors.inc({ controller });
    duration.observe({ controller }, seconds);
  };
}

function queueMetrics(registers: Registry[]): QueueHooks {
  const depth = new Gauge({ name: 'workqueue_depth', help: 'Keys that are due and waiting.', registers });
  const adds = new Counter({ name: 'workqueue_adds_total', help: 'Keys added to the queue.', registers });
  const retries = new Counter({ name: 'workqueue_retries_total', help: 'Keys that are retried.', registers });
  const paced = new Counter({
    name: 'workqueue_paced_total',
    help: 'Keys whose runs are delayed because they ran too often: another controller may revert the changes of the operator.',
    registers,
  });
  const waits = new Histogram({
    name: 'workqueue_queue_duration_seconds',
    help: 'Time that keys waited after they were due.',
    buckets: [0.001, 0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 300],
    registers,
  });
  return {
    depth: (waiting) => depth.set(waiting),
    added: () => adds.inc(),
    retried: () => retries.inc(),
    started: (waitedMs) => waits.observe(waitedMs / 1_000),
    paced: () => paced.inc(),
  };
}

const labelsOf = ({ kind, metadata }: KubeObject) => ({
  kind,
  namespace: metadata.namespace ?? '',
  name: metadata.name,
});

function phaseGauge(registers: Registry[], resources: () => Iterable<KubeObject>): void {
  new Gauge({
    name: 'kube_resource_phase',
    help: '1 for the current phase of a custom resource.',
    labelNames: ['kind', 'namespace', 'name', 'phase'],
    registers,
    collect() {
      this.reset();
      for (const object of resources()) {
        const { phase } = (object['status'] ?? {}) as StatusOf;
        if (phase !== undefined) this.set({ ...labelsOf(object), phase }, 1);
      }
    },
  });
}

function readyGauge(registers: Registry[], resources: () => Iterable<KubeObject>): void {
  new Gauge({
    name: 'vmcp_resource_ready',
    help: '1 while a custom resource is ready or valid, 0 while it is not.',
    labelNames: ['kind', 'namespace', 'name'],
    registers,
    collect() {
      this.reset();
      for (const object of resources()) {
        const isReady = readiness(object);
        if (isReady !== undefined) this.set(labelsOf(object), isReady ? 1 : 0);
      }
    },
  });
}
