import { Type } from 'typebox';
import { Duration } from '../../../gateway/contract/fields.ts';
import { block, duration, flag, SET, texts, whole } from '../../../gateway/contract/optional.ts';
import { LOG_LEVELS } from '../../../gateway/contract/logger.ts';
import { at, type Rule } from '../../../gateway/contract/rule.ts';
import { minimum } from '../../../gateway/contract/duration.ts';

const BRIEF = { maxLength: 64 };
const COUNT = { minimum: 1, maximum: 2147483647, format: 'int32' };

/** Timeouts and failure handling for backends. */
export const operational = block('Timeouts and failure handling for backends.', {
  logLevel: Type.Optional(
    Type.Enum([...LOG_LEVELS], { description: 'Lowest level of log lines. Defaults to `info`.' }),
  ),
  timeouts: block('Timeouts.', {
    default: duration('Timeout for a response of a backend.', { default: '30s', ...BRIEF }),
    backendInit: duration('Timeout for opening a backend.', BRIEF),
    perWorkload: Type.Optional(
      Type.Record(Type.String(), Duration('Timeout for this backend. Overrides `default`.', BRIEF), {
        maxProperties: 256,
        description: 'Timeouts for responses of single backends, by name of the backend.',
      }),
    ),
  }),
  failureHandling: block('Handling of failing backends.', {
    healthCheckInterval: duration('Interval between two probes of a backend.', { default: '30s', ...BRIEF }),
    healthCheckTimeout: duration('Timeout for a probe.', { default: '10s', ...BRIEF }),
    unhealthyThreshold: whole('Number of consecutive failed probes after which a backend is unhealthy.', {
      default: 3,
      ...COUNT,
    }),
    statusReportingInterval: duration('Minimum interval between two status reports.', { default: '30s', ...BRIEF }),
    partialFailureMode: Type.Optional(
      Type.Enum(['fail', 'best_effort'], {
        description:
          '`fail`: list requests fail while a backend is unavailable. `best_effort`, the default: they return what is available.',
      }),
    ),
    circuitBreaker: block('Circuit breaker. Calls fail at once while the circuit of a backend is open.', {
      enabled: flag('Enable the circuit breaker.', { default: false }),
      failureThreshold: whole(
        'Number of consecutive failures that open the circuit. Timeouts count only if a second user or a probe fails as well.',
        { default: 5, ...COUNT },
      ),
      timeout: duration('Time until the open circuit lets one trial call through.', { default: '60s', ...BRIEF }),
    }),
  }),
  listChanged: block('Notifications about changed lists.', {
    enabled: flag('Subscribe to notifications of backends. Defaults to true.'),
    disabledWorkloads: texts(
      'Names of backends without a subscription.',
      { maxItems: 256, ...SET },
      { maxLength: 253 },
    ),
  }),
});

/** Rules for timeouts and intervals. With zero the gateway would loop without a pause or reject everything. */
export const operationalRules = (path: string): Rule[] =>
  at(path, [
    minimum('timeouts', 'default', '1ms'),
    minimum('timeouts', 'backendInit', '1ms'),
    minimum('failureHandling', 'healthCheckInterval', '100ms'),
    minimum('failureHandling', 'healthCheckTimeout', '1ms'),
    minimum('failureHandling', 'statusReportingInterval', '1s'),
    minimum('failureHandling.circuitBreaker', 'timeout', '1s'),
  ]);
