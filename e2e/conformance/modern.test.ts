import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { HttpBackend } from '../harness/backends/host.ts';
import { entry } from '../harness/manifests.ts';
import { blockScope, testScope, type Scope } from '../harness/scope.ts';
import { root } from '../harness/vmcp.ts';
import { startConformanceServer } from './fixture/host.ts';
import { startModernConformanceServer } from './fixture/modern/host.ts';
import { gatewayOverFixture } from './gateway.ts';
import { findings, runConformance, scenariosOf, successes, type ConformanceRun } from './runner.ts';

const REVISION = '2026-07-28';
const requirements = join(root, 'node_modules/@modelcontextprotocol/conformance/requirements', `${REVISION}.yaml`);
const { server: REQUIRED } = parse(await readFile(requirements, 'utf8')) as { server: string[] };

/** Scenarios that expect the key `user_name` of a question: the questions of servers with sessions have no keys. */
const NEED_KEYS = ['input-required-result-basic-elicitation', 'input-required-result-ignore-extra-params'];

/** The runner skips it, whatever the server does. */
const NOTIFICATIONS = 'tasks-status-notifications';

/** Scenarios of the Tasks extension, which only a server of the revision can offer. */
const TASKS = [
  'tasks-capability-negotiation',
  'tasks-dispatch-and-envelope',
  'tasks-lifecycle',
  'tasks-mrtr-composition',
  'tasks-mrtr-input',
  'tasks-request-headers',
  'tasks-request-state-removal',
  'tasks-required-task-error',
  NOTIFICATIONS,
  'tasks-wire-fields',
];

const FIXTURES: readonly { name: string; start: (scope: Scope) => Promise<HttpBackend>; hasKeys: boolean }[] = [
  { name: 'of 2025-11-25 only', start: startConformanceServer, hasKeys: false },
  {
    name: `of ${REVISION} only`,
    start: (scope) => startModernConformanceServer(scope, { legacy: false }),
    hasKeys: true,
  },
  { name: 'of both', start: (scope) => startModernConformanceServer(scope, { legacy: true }), hasKeys: true },
];

const runRequired = (url: string): Promise<ConformanceRun> =>
  runConformance(testScope(), url, ['--requirements', REVISION]);

const scenariosWithFindings = (run: ConformanceRun): string[] => [
  ...new Set(findings(run).map(({ scenario }) => scenario)),
];

it('the runner requires 37 scenarios, and the fixture passes them without a gateway', async () => {
  expect(REQUIRED).toHaveLength(37);
  const { url } = await startModernConformanceServer(testScope(), { legacy: false });
  const run = await runRequired(url);
  expect(run.exitCode, run.output).toBe(0);
  expect(scenariosWithFindings(run).filter((scenario) => TASKS.includes(scenario))).toEqual([NOTIFICATIONS]);
  expect(findings(run).filter(({ scenario }) => REQUIRED.includes(scenario))).toEqual([]);
});

describe.each(FIXTURES)('the gateway in front of a server $name', ({ start, hasKeys }) => {
  const scope = blockScope();
  let started: Promise<string> | undefined;
  const gateway = () => (started ??= start(scope).then(({ url }) => gatewayOverFixture(scope, entry('fixture', url))));

  it('passes every check of 2025-11-25', async () => {
    const run = await runConformance(testScope(), await gateway(), ['--suite', 'all', '--spec-version', '2025-11-25']);
    expect(findings(run), run.output).toEqual([]);
    expect(run.exitCode, run.output).toBe(0);
    expect(scenariosOf(run)).toHaveLength(33);
    expect(successes(run)).toBeGreaterThanOrEqual(80);
  });

  it(`passes every check of ${REVISION} that the server can pass, and those of headers and schemas`, async () => {
    const run = await runRequired(await gateway());
    expect(scenariosOf(run)).toEqual(
      expect.arrayContaining([
        ...REQUIRED,
        'http-custom-header-server-validation',
        'http-header-validation',
        'json-schema-2020-12',
        ...TASKS,
      ]),
    );
    const expected = hasKeys ? [NOTIFICATIONS] : NEED_KEYS;
    const found = scenariosWithFindings(run).filter((scenario) => hasKeys || !TASKS.includes(scenario));
    expect(found.sort(), run.output).toEqual([...expected].sort());
    expect(run.exitCode, run.output).toBe(hasKeys ? 0 : 1);
  });
});
