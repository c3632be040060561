import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import { openSession } from '../harness/clients/raw.ts';
import { entry, gatewayOver } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { testScope } from '../harness/scope.ts';
import { root, startVmcp } from '../harness/vmcp.ts';
import { helm, render } from './chart.ts';
import { hasPrometheus, startPrometheus } from './prometheus.ts';

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string }[];
}

const dashboard = JSON.parse(readFileSync(join(root, 'charts/vmcp/dashboards/gateways.json'), 'utf8')) as {
  readonly panels: readonly Panel[];
};

/** Panels without data as long as nothing is refused or lost. */
const QUIET = ['Refusals and losses'];

interface GatewayRule {
  readonly alert: string;
  readonly expr: string;
}

test.skipIf(helm === undefined)(
  'the chart has the dashboard where it is turned on, with the label of the sidecar',
  async () => {
    const configMaps = async (...values: string[]) =>
      (await render('vmcp', values)).filter(({ metadata }) => metadata.name.endsWith('-dashboard'));
    expect(await configMaps()).toEqual([]);
    const [found] = (await configMaps('monitoring.grafanaDashboard.enabled=true')) as unknown as [
      { metadata: { labels: object }; data: Record<string, string> },
    ];
    expect(found.metadata.labels).toMatchObject({ grafana_dashboard: '1' });
    expect(JSON.parse(found.data['vmcp-gateways.json'] ?? '')).toEqual(dashboard);
  },
);

describe.skipIf(!hasPrometheus || helm === undefined)('with a real gateway and a real Prometheus', () => {
  test('every panel of the dashboard has data, and every alert of the gateways can be evaluated', async () => {
    const scope = testScope();
    const backend = await startHttpBackend(scope, 'sdk-1-stateful', 'files');
    const vmcp = await startVmcp(scope, { files: gatewayOver([entry('files', backend.url)]) });
    const session = await openSession(vmcp.url);
    await eventually('the tools are there', async () => (await session.tools()).includes('files_echo'));
    const { query: prometheus } = await startPrometheus(scope, vmcp.management);

    const traffic = async (): Promise<void> => {
      await session.call('files_echo', { text: 'hi' });
      await session.call('files_failing');
      await session.call('nothing');
    };
    for (const { title, targets } of dashboard.panels.filter((panel) => !QUIET.includes(panel.title))) {
      for (const { expr } of targets) {
        await eventually(
          `"${title}" has data`,
          async () => {
            await traffic();
            const values = await prometheus(expr.replaceAll('$__rate_interval', '10s').replaceAll('$server', '.*'));
            return values.length > 0 && values.every((value) => Number.isFinite(value));
          },
          { timeoutMs: 30_000 },
        );
      }
    }
    const rules = await render('vmcp', ['monitoring.prometheusRule.enabled=true']);
    const { groups } = rules.find(({ kind }) => kind === 'PrometheusRule')!.spec as {
      groups: { name: string; rules: GatewayRule[] }[];
    };
    const alerts = groups.find(({ name }) => name === 'vmcp-gateways')?.rules ?? [];
    expect(alerts.map(({ alert }) => alert)).toEqual(['VMCPBackendErrors', 'VMCPBackendSlow', 'VMCPTelemetryLost']);
    for (const { expr } of alerts) expect(await prometheus(expr)).toEqual([]);
  });
});
