import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { KubeObject } from '../../gateway/kube/resource.ts';
import type { QueueHooks } from './queue.ts';

/** How a reconcile ended; `refused`: the API server does not take what the spec asks for, which is the user's to solve. */
export type ReconcileResult = 'success' | 'requeue' | 'refused' | 'error';

export interface OperatorMetrics {
  readonly contentType: string;
  readonly queue: QueueHooks;
  /** Told at the end of each reconcile. */
  reconciled(controller: string, result: ReconcileResult, seconds: number): void;
  leading(isLeader: boolean): void;
  /** Everything as text for Prometheus. */
  text(): Promise<string>;
}

/** Of a condition list the Ready condition, or what stands for it in kinds that serve nothing. */
const READY_TYPES = ['Ready', 'Valid', 'MCPServersChecked'];

interface StatusOf {
  readonly phase?: string;
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}

/** True or false as the conditions say; undefined while nothing was said. */
export function readiness(object: KubeObject): boolean | undefined {
  const { conditions = [] } = (object['status'] ?? {}) as StatusOf;
  const found = READY_TYPES.flatMap((type) => conditions.filter((condition) => condition.type === type))[0];
  return found && found.status === 'True';
}

/**
 * The figures of the operator. Those of resources are read when they are asked for, so that none outlives its object;
 * a standby shows none, as the leader's are the same.
 * @param resources the custom resources as they are now
 * @param controllers names of all controllers: their counters start at 0, because Prometheus sees no increase between a
 * series that is absent and its first value
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
  const depth = new Gauge({ name: 'workqueue_depth', help: 'Keys that are due and wait.', registers });
  const adds = new Counter({ name: 'workqueue_adds_total', help: 'Keys that were added.', registers });
  const retries = new Counter({ name: 'workqueue_retries_total', help: 'Keys that are tried again.', registers });
  const paced = new Counter({
    name: 'workqueue_paced_total',
    help: 'Keys that ran so often that further runs are spaced: somebody else reverts what the operator writes.',
    registers,
  });
  const waits = new Histogram({
    name: 'workqueue_queue_duration_seconds',
    help: 'How long keys were due before their run.',
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
    help: 'The phase that a custom resource is in: 1 for it.',
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
