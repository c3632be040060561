import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CONTROLLERS } from '../../operator/controller/kinds.ts';
import { createMetrics } from '../../operator/controller/metrics.ts';
import { configOver } from '../harness/authenticated-gateway.ts';
import { startHttpBackend } from '../harness/backends/http.ts';
import { openSession } from '../harness/clients/raw.ts';
import { freePort } from '../harness/free-port.ts';
import { eventually } from '../harness/poll.ts';
import { testScope } from '../harness/scope.ts';
import { root, startGateway } from '../harness/vmcp.ts';
import { helm, render } from './chart.ts';
import { hasPrometheus, startPrometheus } from './prometheus.ts';

interface Group {
  readonly name: string;
  readonly rules: readonly { readonly alert: string; readonly expr: string; readonly for: string }[];
}

async function groupsOf(): Promise<readonly Group[]> {
  const objects = await render('vmcp', ['monitoring.prometheusRule.enabled=true']);
  return (objects.find(({ kind }) => kind === 'PrometheusRule')!.spec as { groups: Group[] }).groups;
}

/** Returns the rules of the gateways with seconds for their minutes, and with a limit of 2 s for slow calls. */
async function shortRules(): Promise<Group[]> {
  const [, gateways] = await groupsOf();
  if (gateways?.name !== 'vmcp-gateways') throw new Error('the chart has no rules for gateways');
  const rules = gateways.rules.map((rule) => ({
    ...rule,
    expr: rule.expr.replaceAll(/\[\d+m\]/gu, '[10s]').replace(/> 10$/u, '> 2'),
    for: '2s',
  }));
  return [{ ...gateways, rules }];
}

/** Starts a gateway over two backends, whose collector does not answer. */
async function start() {
  const scope = testScope();
  const [files, gone] = [
    await startHttpBackend(scope, 'sdk-1-stateful', 'files'),
    await startHttpBackend(scope, 'sdk-1-stateful', 'gone'),
  ];
  const allowed = { transport: 'streamable-http' as const, insecure_allow_http: true, allow_private_ips: true };
  const backends = [
    { name: 'files', url: files.url, ...allowed },
    { name: 'gone', url: gone.url, ...allowed },
  ];
  const telemetry = { endpoint: `http://127.0.0.1:${String(await freePort())}`, samplingRate: '1' };
  const gateway = await startGateway(
    scope,
    JSON.stringify({ ...configOver({ backends }), telemetry_config: telemetry }),
  );
  const session = await openSession(gateway.url);
  await eventually('the tools are there', async () => (await session.tools()).includes('gone_echo'));
  return { scope, gateway, session, gone };
}

describe.skipIf(!hasPrometheus || helm === undefined)('the alerts of gateways', () => {
  test('fire in a real Prometheus for what they name, and only then', async () => {
    const { scope, gateway, session, gone } = await start();
    const prometheus = await startPrometheus(scope, gateway.management, await shortRules());
    const firing = async (): Promise<string[]> =>
      (await prometheus.firing()).map(({ labels }) => labels['alertname'] ?? '');
    const until = (what: string, act: () => Promise<unknown>, isFired: (names: string[]) => boolean) =>
      eventually(
        what,
        async () => {
          await act();
          return isFired(await firing());
        },
        { timeoutMs: 40_000 },
      );
    const healthy = () =>
      Promise.all([session.call('files_echo', { text: 'hi' }), session.call('gone_echo', { text: 'hi' })]);
    await until('spans are lost', healthy, (names) => names.includes('VMCPTelemetryLost'));
    expect(new Set(await firing())).toEqual(new Set(['VMCPTelemetryLost']));
    const slow = () => session.call('files_slow', { ms: 3_000 });
    await until('calls are slow', slow, (names) => names.includes('VMCPBackendSlow'));
    expect(await firing()).not.toContain('VMCPBackendErrors');
    await gone.crash();
    const failing = () => session.call('gone_echo', { text: 'hi' });
    await until('a backend fails', failing, (names) => names.includes('VMCPBackendErrors'));
    const texts = (await prometheus.firing()).map(({ annotations }) => annotations['summary'] ?? '');
    expect(texts).toContainEqual('More than 10 % of the calls of backend gone in /under-test fail');
    expect(texts).toContainEqual('The collector of /under-test does not take all traces');
  });

  test('and the dashboard name only metrics that gateways and operators have', async () => {
    const { gateway } = await start();
    const dashboard = readFileSync(join(root, 'charts/vmcp/dashboards/gateways.json'), 'utf8');
    const { panels } = JSON.parse(dashboard) as { panels: { targets: { expr: string }[] }[] };
    const [ofOperator, ofGateways] = (await groupsOf()).map(({ rules }) => rules.map(({ expr }) => expr));
    const operator = await createMetrics(
      () => [],
      CONTROLLERS.map(({ kind }) => kind),
    ).text();
    const served = await (await fetch(`${gateway.management}/metrics`)).text();
    expect(unknownMetrics(ofOperator ?? [], operator)).toEqual([]);
    const ofDashboard = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    expect(ofDashboard.length).toBeGreaterThan(5);
    expect(unknownMetrics([...(ofGateways ?? []), ...ofDashboard], served)).toEqual([]);
    expect(unknownMetrics(['rate(vmcp_none_total[5m])'], served)).toEqual(['vmcp_none_total']);
  });
});

/** Returns the names of metrics in expressions that a text in the format of Prometheus does not declare. */
function unknownMetrics(expressions: readonly string[], text: string): string[] {
  const declared = new Set(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gmu)].flatMap(([, name = '', type]) =>
      type === 'histogram' ? ['_bucket', '_count', '_sum'].map((end) => `${name}${end}`) : [name],
    ),
  );
  const named = expressions.flatMap((expr) => {
    const withoutLabels = expr.replaceAll(/\{[^}]*\}|\b(?:by|ignoring|on|group_left)\s*\([^)]*\)/gu, '');
    return withoutLabels.match(/\b[a-z]\w*_\w+\b(?!\s*\()/gu) ?? [];
  });
  return [...new Set(named)].filter((name) => !declared.has(name) && !OPERATORS.has(name));
}

/** Words with an underscore that are no metrics. */
const OPERATORS = new Set(['group_left', 'group_right']);
