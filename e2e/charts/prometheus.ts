import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { stringify } from 'yaml';
import { freePort } from '../harness/free-port.ts';
import { eventually } from '../harness/poll.ts';
import type { Scope } from '../harness/scope.ts';
import { temporaryFolder } from '../harness/vmcp.ts';

export const hasPrometheus = ['prometheus', 'promtool'].every(
  (program) => spawnSync(program, ['--version']).status === 0,
);

export interface FiringAlert {
  readonly state: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Starts a Prometheus that scrapes `target`, the URL of a listener, every second, and evaluates `groups` as often. */
export async function startPrometheus(scope: Scope, target: string, groups: readonly object[] = []) {
  const folder = await temporaryFolder(scope);
  const port = await freePort();
  const [file, rules] = [join(folder, 'prometheus.yml'), join(folder, 'rules.yml')];
  const targets = [target.replace('http://', '')];
  const jobs = [{ job_name: 'gateway', scrape_interval: '1s', static_configs: [{ targets }] }];
  writeFileSync(rules, stringify({ groups }));
  writeFileSync(file, stringify({ global: { evaluation_interval: '1s' }, rule_files: [rules], scrape_configs: jobs }));
  const args = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const child = spawn('prometheus', args, { stdio: 'ignore' });
  scope.defer(() => child.kill('SIGKILL'));
  const url = `http://127.0.0.1:${port}`;
  await eventually('Prometheus is ready', async () => (await fetch(`${url}/-/ready`)).ok, { timeoutMs: 30_000 });
  return {
    /** Returns the values of an expression. */
    query: async (expr: string): Promise<number[]> => {
      const reply = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(expr)}`);
      const { status, data, error } = (await reply.json()) as {
        status: string;
        error?: string;
        data: { result: { value: [number, string] }[] };
      };
      expect(status, `${expr}: ${error ?? ''}`).toBe('success');
      return data.result.map(({ value }) => Number(value[1]));
    },
    firing: async (): Promise<FiringAlert[]> => {
      const reply = (await (await fetch(`${url}/api/v1/alerts`)).json()) as { data: { alerts: FiringAlert[] } };
      return reply.data.alerts.filter(({ state }) => state === 'firing');
    },
  };
}
