import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { CONTROLLERS } from '../../operator/controller/kinds.ts';
import { createMetrics } from '../../operator/controller/metrics.ts';
import { retryPauseMs } from '../../operator/controller/queue.ts';
import { helm, render } from './chart.ts';

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

const SCRAPE_SECONDS = 30;
const MINUTES = 90;
const SCRAPES = (MINUTES * 60) / SCRAPE_SECONDS;
/** Labels that Prometheus adds to metrics of the ServiceMonitor of the chart. */
const TARGET = { job: 'vmcp-operator', namespace: 'vmcp-system', pod: 'vmcp-operator-0', container: 'operator' };

interface Rule {
  readonly alert: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}

/** Value of a series at each scrape. */
type Values = (second: number) => number;

const folder = mkdtempSync(join(tmpdir(), 'vmcp-alerts-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** Returns the series of a new operator with one resource, as Prometheus stores them. */
async function exposedSeries(): Promise<string[]> {
  const status = { conditions: [{ type: 'Ready', status: 'False' }] };
  const metadata = { namespace: 'team', name: 'gateway' };
  const resource = { apiVersion: 'vmcp.dev/v1alpha1', kind: 'VirtualMCPServer', metadata, status };
  const metrics = createMetrics(
    () => [resource],
    CONTROLLERS.map(({ kind }) => kind),
  );
  metrics.leading(true);
  const lines = (await metrics.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.map((line) => {
    const [, name = '', own = ''] = /^(\w+)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    const labels = Object.entries(TARGET).filter(([label]) => !own.includes(`${label}="`));
    return `${name}{${[own, ...labels.map(([label, value]) => `${label}="${value}"`)].filter(Boolean).join(',')}}`;
  });
}

/** Returns the number of failures until `second` of one resource that the operator retries. */
function failuresAt(second: number): number {
  let failures = 0;
  for (let at = 0; at <= second * 1_000; at += retryPauseMs(failures)) failures += 1;
  return failures;
}

describe.skipIf(helm === undefined || !hasPromtool)('the alert rules of the chart', () => {
  let rules: readonly Rule[];
  let series: readonly string[];

  beforeAll(async () => {
    const objects = await render('vmcp', ['monitoring.prometheusRule.enabled=true']);
    const spec = objects.find(({ kind }) => kind === 'PrometheusRule')?.spec as { groups: [{ rules: Rule[] }] };
    rules = spec.groups[0].rules;
    writeFileSync(join(folder, 'rules.yaml'), stringify(spec));
    series = await exposedSeries();
  });

  /** Returns the minutes, in steps of five, at which an alert fires for these values; other series are 0. */
  function firingAt(alertname: string, values: Readonly<Record<string, Values>>, absent?: RegExp): number[] {
    for (const name of Object.keys(values)) expect(series.some((each) => each.startsWith(name))).toBe(true);
    const input_series = series
      .filter((each) => !absent?.test(each))
      .map((each) => {
        const value = Object.entries(values).find(([start]) => each.startsWith(start))?.[1] ?? (() => 0);
        return {
          series: each,
          values: Array.from({ length: SCRAPES }, (_, scrape) => value(scrape * SCRAPE_SECONDS)).join(' '),
        };
      });
    const minutes = Array.from({ length: MINUTES / 5 }, (_, index) => index * 5);
    const silent = minutes.map((minute) => ({ eval_time: `${String(minute)}m`, alertname, exp_alerts: [] }));
    const file = join(folder, 'test.yaml');
    const times = { rule_files: ['rules.yaml'], evaluation_interval: `${String(SCRAPE_SECONDS)}s` };
    const interval = `${String(SCRAPE_SECONDS)}s`;
    writeFileSync(file, stringify({ ...times, tests: [{ interval, input_series, alert_rule_test: silent }] }));
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
    const firing = [...`${stdout}${stderr}`.matchAll(/alertname: ?\w+, time: (?:(\d+)h)?(?:(\d+)m)?/g)];
    expect(status === 0, stdout + stderr).toBe(firing.length === 0);
    return firing.map(([, hours = '0', rest = '0']) => Number(hours) * 60 + Number(rest));
  }

  const leading = { leader_election_master_status: () => 1 };
  const ready = { vmcp_resource_ready: () => 1 };
  const failing = { 'reconcile_errors_total{controller="VirtualMCPServer"': failuresAt };

  test('are accepted by Prometheus, including their templates', () => {
    const { status, stderr } = spawnSync('promtool', ['check', 'rules', join(folder, 'rules.yaml')], {
      encoding: 'utf8',
    });
    expect(status, stderr).toBe(0);
    expect(rules.map(({ alert }) => alert)).toEqual([
      'VMCPResourceNotReady',
      'VMCPReconcileErrors',
      'VMCPOperatorNotLeading',
    ]);
  });

  test('are silent while everything works', () => {
    for (const { alert } of rules) expect(firingAt(alert, { ...leading, ...ready })).toEqual([]);
  });

  test('VMCPReconcileErrors fires, and keeps firing, for one resource that keeps failing', () => {
    const firing = firingAt('VMCPReconcileErrors', { ...leading, ...ready, ...failing });
    expect(firing).toEqual(Array.from({ length: 14 }, (_, index) => 20 + index * 5));
  });

  test('VMCPReconcileErrors is silent after a short outage', () => {
    const outage = (second: number): number => failuresAt(Math.min(second, 60));
    const values = { ...leading, ...ready, 'reconcile_errors_total{controller="MCPServer"': outage };
    expect(firingAt('VMCPReconcileErrors', values)).toEqual([]);
  });

  test('VMCPOperatorNotLeading fires without a leader and without a scraped process', () => {
    const from = (firing: readonly number[]) => [firing[0], firing.at(-1)];
    expect(from(firingAt('VMCPOperatorNotLeading', ready))).toEqual([5, 85]);
    expect(from(firingAt('VMCPOperatorNotLeading', ready, /^leader_election/))).toEqual([5, 85]);
  });

  test('VMCPResourceNotReady fires for a resource that stays unready, and stops when it is ready', () => {
    const firing = firingAt('VMCPResourceNotReady', {
      ...leading,
      vmcp_resource_ready: (second) => (second > 40 * 60 ? 1 : 0),
    });
    expect(firing).toEqual([10, 15, 20, 25, 30, 35, 40]);
  });
});
