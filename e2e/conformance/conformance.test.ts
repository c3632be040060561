import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { openSession, textOf } from '../harness/clients/raw.ts';
import { entry, gatewayOver, server } from '../harness/manifests.ts';
import { blockScope, testScope } from '../harness/scope.ts';
import { root, startVmcp } from '../harness/vmcp.ts';
import { startConformanceServer, startConformanceSse } from './fixture/host.ts';
import { startPollingServer } from './fixture/polling-host.ts';
import { gatewayOverFixture } from './gateway.ts';
import { findings, runConformance, scenariosOf, successes } from './runner.ts';

const stdioFixture = join(root, 'e2e/conformance/fixture/serve-stdio.ts');
const REVISION = '2025-11-25';
const requirements = join(root, 'node_modules/@modelcontextprotocol/conformance/requirements', `${REVISION}.yaml`);

/**
 * The whole suite of each revision: the number of scenarios, and the least number of checks that succeed. A server
 * that answers JSON instead of a stream has up to four checks less than the fixture.
 */
const SUITES = [
  { revision: '2025-06-18', scenarios: 27, successes: 56 },
  { revision: '2025-11-25', scenarios: 33, successes: 80 },
] as const;

type Suite = (typeof SUITES)[number];

const scope = blockScope();
let gateway: string;

beforeAll(async () => {
  gateway = await gatewayOverFixture(scope, entry('fixture', (await startConformanceServer(scope)).url));
});

/** Runs the whole suite and returns the scenarios in which a check succeeded. */
async function expectSuite(url: string, { revision, scenarios, successes: expected }: Suite): Promise<Set<string>> {
  const run = await runConformance(testScope(), url, ['--suite', 'all', '--spec-version', revision]);
  expect(findings(run), run.output).toEqual([]);
  expect(run.exitCode, run.output).toBe(0);
  expect(scenariosOf(run)).toHaveLength(scenarios);
  expect(successes(run)).toBeGreaterThanOrEqual(expected);
  return new Set(run.checks.filter(({ status }) => status === 'SUCCESS').map(({ scenario }) => scenario));
}

/** The transport to the backend makes no difference to a client. */
describe('the gateway in front of the fixture', () => {
  it(`passes every check of ${SUITES[0].revision}`, async () => {
    await expectSuite(gateway, SUITES[0]);
  });

  it(`passes every check of ${REVISION}, among them the 30 scenarios that it requires`, async () => {
    const { server: required } = parse(await readFile(requirements, 'utf8')) as { server: string[] };
    expect(required).toHaveLength(30);
    const passed = await expectSuite(gateway, SUITES[1]);
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

/** The runner counts a JSON answer as "not applicable", even an answer that reports a failed call. */
it('resumes the stream of a call that a backend ends before its reply (SEP-1699)', async () => {
  const session = await openSession(gateway);
  expect(textOf(await session.call('test_reconnection'))).toBe('Reconnection test completed');
});

it('resumes at once the stream of a backend on SDK 1.29 that names a long wait and stores no reply', async () => {
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
