import { expect, it } from 'vitest';
import { verdictOf } from './verdict.ts';

const demands = /DEMO_KEY/u;
const status = (health: string, reason?: string) => ({ name: 'demo', health, tools: 3, ...(reason && { reason }) });

it.each([
  [{}, status('healthy'), 'passed', 'healthy, 3 tools'],
  [{ demands }, status('healthy'), 'passed', 'healthy, 3 tools'],
  [{}, status('degraded', 'its last answer took 6.0 s'), 'passed', 'degraded, 3 tools'],
  [{ demands }, status('unhealthy', 'code 1: DEMO_KEY is not set'), 'passed', 'unhealthy: code 1: DEMO_KEY is not set'],
  [{ demands }, status('unhealthy', 'no'), 'failed', 'unhealthy: no; the reason must match DEMO_KEY'],
  [{ fault: demands }, status('unhealthy', 'DEMO_KEY is a fault'), 'passed', 'unhealthy: DEMO_KEY is a fault'],
  [
    { demands, fault: /libdemo/u },
    status('unhealthy', 'no'),
    'failed',
    'unhealthy: no; the reason must match DEMO_KEY or libdemo',
  ],
  [{}, status('unhealthy', 'code 1: DEMO_KEY is not set'), 'failed', 'unhealthy: code 1: DEMO_KEY is not set'],
])('judges a server with %j in state %j', (entry, backend, outcome, detail) => {
  expect(verdictOf(entry, backend)).toMatchObject({ outcome, detail });
});

it('shortens a long reason', () => {
  const { detail } = verdictOf({}, status('unhealthy', 'x'.repeat(1_000)));
  expect(detail).toHaveLength(240);
});
