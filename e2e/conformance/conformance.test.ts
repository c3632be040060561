import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { openSession, textOf } from '../harness/clients/raw.ts';
import { entry, gatewayOver, server, type Manifest } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { blockScope, testScope, type Scope } from '../harness/scope.ts';
import { root, startVmcp } from '../harness/vmcp.ts';
import { startConformanceServer, startConformanceSse } from './fixture/host.ts';
import { startPollingServer } from './fixture/polling-host.ts';
import { runConformance, scenariosOf, type ConformanceRun } from './runner.ts';

const stdioFixture = join(root, 'e2e/conformance/fixture/serve-stdio.ts');
const REVISION = '2025-11-25';
const requirements = join(root, 'node_modules/@modelcontextprotocol/conformance/requirements', `${REVISION}.yaml`);

/**
 * The whole suite of a revision: how many scenarios run, and at least how many checks succeed. A server that answers
 * JSON where it may stream has up to four checks less than the fixture.
 */
const SUITES = [
  { revision: '2025-06-18', scenarios: 27, successes: 56 },
  { revision: '2025-11-25', scenarios: 33, successes: 80 },
] as const;

type Suite = (typeof SUITES)[number];

/** INFO is a record of what was seen; everything else that is no success is a finding, scored or not. */
const findings = ({ checks }: ConformanceRun) =>
  checks.filter(({ status }) => status !== 'SUCCESS' && status !== 'INFO');
const successes = ({ checks }: ConformanceRun): number => checks.filter(({ status }) => status === 'SUCCESS').length;

const scope = blockScope();
let direct: string;
let gateway: string;

beforeAll(async () => {
  direct = (await startConformanceServer(scope)).url;
  gateway = await gatewayOverFixture(scope, entry('fixture', direct));
});

/** A gateway that leaves the names alone; ready when it lists the tools of its only backend. */
async function gatewayOverFixture(owner: Scope, backend: Manifest): Promise<string> {
  const config = { aggregation: { conflictResolution: 'none' } };
  const { url } = await startVmcp(owner, { files: gatewayOver([backend], config) });
  const session = await openSession(url);
  await eventually('the fixture is listed', async () => (await session.tools()).includes('test_simple_text'));
  return url;
}

async function expectSuite(url: string, { revision, scenarios, successes: expected }: Suite): Promise<void> {
  const run = await runConformance(testScope(), url, ['--suite', 'all', '--spec-version', revision]);
  expect(findings(run), run.output).toEqual([]);
  expect(run.exitCode, run.output).toBe(0);
  expect(scenariosOf(run)).toHaveLength(scenarios);
  expect(successes(run)).toBeGreaterThanOrEqual(expected);
}

it.each(SUITES)('the fixture itself passes every check of $revision', async (suite) => {
  await expectSuite(direct, suite);
});

/** What a client sees must not depend on how the backend is reached. */
describe('the gateway in front of the fixture', () => {
  it.each(SUITES)('passes every check of $revision', async (suite) => {
    await expectSuite(gateway, suite);
  });

  it(`passes the 30 scenarios that ${REVISION} requires`, async () => {
    const { server: required } = parse(await readFile(requirements, 'utf8')) as { server: string[] };
    expect(required).toHaveLength(30);
    const run = await runConformance(testScope(), gateway, ['--requirements', REVISION]);
    expect(findings(run), run.output).toEqual([]);
    expect(run.exitCode, run.output).toBe(0);
    const passed = new Set(run.checks.filter(({ status }) => status === 'SUCCESS').map(({ scenario }) => scenario));
    expect(required.filter((scenario) => !passed.has(scenario))).toEqual([]);
  });

  it('over HTTP+SSE passes every check', async () => {
    const { url } = await startConformanceSse(testScope());
    await expectSuite(await gatewayOverFixture(testScope(), entry('fixture', url, 'sse')), SUITES[1]);
  });

  it('over stdio, a process per session, passes every check', async () => {
    const backend = server('fixture', 'npx://jiti', { args: [stdioFixture], isolation: 'session' });
    await expectSuite(await gatewayOverFixture(testScope(), backend), SUITES[1]);
  });
});

/** The runner takes a JSON answer as "not applicable", also when the answer says that the call failed. */
it('a backend that ends the stream of a call before its reply is asked for the rest (SEP-1699)', async () => {
  const session = await openSession(gateway);
  expect(textOf(await session.call('test_reconnection'))).toBe('Reconnection test completed');
});

it('a backend on SDK 1.29 that names a long wait and keeps no reply is asked for the rest at once', async () => {
  const { url } = await startPollingServer(testScope());
  const polling = await runConformance(testScope(), url, ['--scenario', 'server-sse-polling']);
  expect(findings(polling), polling.output).toEqual([]);
  expect(successes(polling)).toBe(3);
  const config = { aggregation: { conflictResolution: 'none' } };
  const over = await startVmcp(testScope(), { files: gatewayOver([entry('polling', url)], config) });
  const session = await openSession(over.url);
  const began = performance.now();
  expect(textOf(await session.call('test_reconnection'))).toBe('Reconnection test completed');
  expect(performance.now() - began).toBeLessThan(5_000);
});
