import { durationMs, timerFault } from '../../gateway/contract/fields.ts';
import type { Operational } from '../../gateway/contract/gateway-config.ts';
import { unknownBackend } from './aggregation.ts';
import { childPath } from './fields/field-path.ts';
import type { Report, Scope } from './scope.ts';
import type { VirtualMCPServer } from './snapshot.ts';

type OperationalSpec = NonNullable<NonNullable<VirtualMCPServer['spec']['config']>['operational']>;
type FailureHandlingSpec = NonNullable<OperationalSpec['failureHandling']>;
type BreakerSpec = NonNullable<FailureHandlingSpec['circuitBreaker']>;

const PATH = 'spec.config.operational';
const DEFAULT_TIMEOUT = '30s';
const DEFAULT_PROBE_INTERVAL = '30s';
const DEFAULT_PROBE_TIMEOUT = '10s';
const DEFAULT_UNHEALTHY_THRESHOLD = 3;
const DEFAULT_BREAKER = { enabled: false, failureThreshold: 5, timeout: '60s' };

/** Resolves timeouts, probes and the circuit breaker with all defaults. `backends` are the group's member names. */
export function resolveOperational(scope: Scope, backends: readonly string[]): Operational {
  const spec = scope.vmcp.spec.config?.operational ?? {};
  const report = scope.on(scope.vmcp);
  return {
    timeouts: resolveTimeouts(spec.timeouts ?? {}, backends, report),
    failure_handling: resolveFailureHandling(spec.failureHandling ?? {}, report),
    ...(spec.logLevel && { log_level: spec.logLevel }),
    ...(spec.listChanged && { list_changed: resolveListChanged(spec.listChanged, backends, report) }),
  };
}

function resolveTimeouts(
  spec: NonNullable<OperationalSpec['timeouts']>,
  backends: readonly string[],
  report: Report,
): Operational['timeouts'] {
  const path = `${PATH}.timeouts`;
  checkTimer(spec.default, `${path}.default`, report);
  checkTimer(spec.backendInit, `${path}.backendInit`, report);
  for (const [name, timeout] of Object.entries(spec.perWorkload ?? {})) {
    const here = childPath(`${path}.perWorkload`, name);
    checkTimer(timeout, here, report);
    if (!backends.includes(name)) report.warning('UnknownBackend', here, unknownBackend(name, backends));
  }
  return {
    default: spec.default ?? DEFAULT_TIMEOUT,
    ...(spec.backendInit !== undefined && { backend_init: spec.backendInit }),
    ...(spec.perWorkload && { per_workload: spec.perWorkload }),
  };
}

function resolveFailureHandling(spec: FailureHandlingSpec, report: Report): Operational['failure_handling'] {
  const path = `${PATH}.failureHandling`;
  const interval = spec.healthCheckInterval ?? DEFAULT_PROBE_INTERVAL;
  const timeout = spec.healthCheckTimeout ?? DEFAULT_PROBE_TIMEOUT;
  const timers = [
    checkTimer(interval, `${path}.healthCheckInterval`, report),
    checkTimer(timeout, `${path}.healthCheckTimeout`, report),
  ];
  if (timers.every(Boolean) && durationMs(timeout) > durationMs(interval)) {
    report.warning(
      'ProbesOverlap',
      `${path}.healthCheckTimeout`,
      `a probe may take ${timeout} and the next one starts after ${interval}: make the timeout shorter than the interval`,
    );
  }
  return {
    health_check_interval: interval,
    health_check_timeout: timeout,
    unhealthy_threshold: spec.unhealthyThreshold ?? DEFAULT_UNHEALTHY_THRESHOLD,
    circuit_breaker: resolveBreaker(spec.circuitBreaker ?? {}, `${path}.circuitBreaker`, report),
    ...(spec.partialFailureMode && { partial_failure_mode: spec.partialFailureMode }),
  };
}

function resolveBreaker(
  spec: BreakerSpec,
  path: string,
  report: Report,
): Operational['failure_handling']['circuit_breaker'] {
  const { enabled, failureThreshold, timeout } = { ...DEFAULT_BREAKER, ...spec };
  checkTimer(timeout, `${path}.timeout`, report);
  const changed = failureThreshold !== DEFAULT_BREAKER.failureThreshold || timeout !== DEFAULT_BREAKER.timeout;
  if (!enabled && changed) {
    report.warning('NoEffect', path, 'the circuit breaker is off: set enabled: true, or remove its settings');
  }
  return { enabled, failure_threshold: failureThreshold, timeout };
}

function resolveListChanged(
  spec: NonNullable<OperationalSpec['listChanged']>,
  backends: readonly string[],
  report: Report,
): NonNullable<Operational['list_changed']> {
  const path = `${PATH}.listChanged.disabledWorkloads`;
  const disabled = spec.disabledWorkloads ?? [];
  disabled.forEach((name, index) => {
    if (!backends.includes(name))
      report.warning('UnknownBackend', `${path}[${String(index)}]`, unknownBackend(name, backends));
  });
  if (spec.enabled === false && disabled.length > 0) {
    report.warning('NoEffect', path, 'listChanged is off for every backend: remove the list, or remove enabled: false');
  }
  return {
    ...(spec.enabled !== undefined && { enabled: spec.enabled }),
    ...(spec.disabledWorkloads && { disabled_workloads: spec.disabledWorkloads }),
  };
}

/** Reports a duration that is unusable for a timer. Returns true when it is usable. */
function checkTimer(text: string | undefined, path: string, report: Report): boolean {
  const fault = text === undefined ? undefined : timerFault(text);
  if (fault !== undefined) report.problem('InvalidDuration', path, fault);
  return fault === undefined;
}
