import { Type } from 'typebox';
import { Duration } from '../../gateway/contract/fields.ts';
import { block, duration, flag, SET, texts, whole } from '../../gateway/contract/optional.ts';
import { at, type Rule } from '../../gateway/contract/rule.ts';
import { minimum } from '../../gateway/contract/duration-rules.ts';

const BRIEF = { maxLength: 64 };
const COUNT = { minimum: 1, maximum: 2147483647, format: 'int32' };

/** How patient the gateway is with backends and what it does when they fail. */
export const operational = block('Patience with backends, and what their failure means.', {
  logLevel: Type.Optional(Type.Enum(['debug'], { description: 'More log lines.' })),
  timeouts: block('Longest waits.', {
    default: duration('For a backend’s answer.', { default: '30s', ...BRIEF }),
    backendInit: duration('For opening one backend.', BRIEF),
    perWorkload: Type.Optional(
      Type.Record(Type.String(), Duration('Wins over `default` for that backend.', BRIEF), {
        maxProperties: 256,
        description: 'For the answer of single backends, by name.',
      }),
    ),
  }),
  failureHandling: block('What failing backends mean.', {
    healthCheckInterval: duration('Time between two probes of a backend.', { default: '30s', ...BRIEF }),
    healthCheckTimeout: duration('Longest wait for a probe.', { default: '10s', ...BRIEF }),
    unhealthyThreshold: whole('Failed probes in a row that make a backend unhealthy.', { default: 3, ...COUNT }),
    statusReportingInterval: duration('Shortest time between two status reports.', { default: '30s', ...BRIEF }),
    partialFailureMode: Type.Optional(
      Type.Enum(['fail', 'best_effort'], {
        description: '`fail`: lists answer an error while a backend is unavailable; `best_effort` when absent.',
      }),
    ),
    circuitBreaker: block('Fail calls at once while a backend keeps failing.', {
      enabled: flag('Do so.', { default: false }),
      failureThreshold: whole(
        'Failures in a row that open the circuit. Timeouts count when a second user or a health check fails, too.',
        { default: 5, ...COUNT },
      ),
      timeout: duration('Time until one trial call is let through.', { default: '60s', ...BRIEF }),
    }),
  }),
  listChanged: block('Announcements of changed lists.', {
    enabled: flag('Subscribe to those of backends; true when absent.'),
    disabledWorkloads: texts('Backends not subscribed to.', { maxItems: 256, ...SET }, { maxLength: 253 }),
  }),
});

/** No wait and no interval is zero, else the gateway would spin or refuse everything. */
export const operationalRules = (path: string): Rule[] =>
  at(path, [
    minimum('timeouts', 'default', '1ms'),
    minimum('timeouts', 'backendInit', '1ms'),
    minimum('failureHandling', 'healthCheckInterval', '100ms'),
    minimum('failureHandling', 'healthCheckTimeout', '1ms'),
    minimum('failureHandling', 'statusReportingInterval', '1s'),
    minimum('failureHandling.circuitBreaker', 'timeout', '1s'),
  ]);
