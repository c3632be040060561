import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { blockScope } from '../harness/scope.ts';
import { root } from '../harness/vmcp.ts';
import { findings, runClientConformance, successes } from './runner.ts';

const command = `${process.execPath} ${join(root, 'e2e/conformance/client/drive.ts')}`;

/** Scenarios of `conformance client` about requests to a server, and the number of checks that succeed. */
const SCENARIOS = [
  ['tools_call', 2],
  ['request-metadata', 5],
  ['sep-2322-client-request-state', 5],
  ['http-standard-headers', 10],
  ['http-custom-headers', 18],
  ['http-invalid-tool-headers', 12],
  ['json-schema-ref-no-deref', 1],
  ['json-schema-2020-12-preservation', 9],
] as const;

/** Checks about requests that the gateway has no reason to send: `initialize`, and capabilities that it does not declare. */
const SKIPPED = [
  'sep-2243-client-includes-standard-headers',
  'sep-2575-client-declares-elicitation-capability',
  'sep-2575-client-declares-roots-capability',
  'sep-2575-client-declares-sampling-capability',
];

const scope = blockScope();

/**
 * The gateway sends `initialize`, too, to a server that does not answer `server/discover` within 250 ms, and these
 * scenarios reject it. On a busy machine that happens to the servers of the runner, so a scenario has further runs.
 */
describe.concurrent('the gateway as a client', { retry: 5 }, () => {
  it('passes sse-retry of 2025-11-25', async () => {
    const run = await runClientConformance(scope, 'sse-retry', { command, revision: '2025-11-25' });
    expect(findings(run), run.output).toEqual([]);
    expect(run.exitCode, run.output).toBe(0);
    expect(successes(run)).toBe(3);
  });

  it.each(SCENARIOS)('passes %s of 2026-07-28', async (scenario, expected) => {
    const run = await runClientConformance(scope, scenario, { command, revision: '2026-07-28' });
    const unexpected = findings(run).filter(({ id, status }) => status !== 'SKIPPED' || !SKIPPED.includes(id));
    expect(unexpected, run.output).toEqual([]);
    expect(run.exitCode, run.output).toBe(0);
    expect(successes(run)).toBeGreaterThanOrEqual(expected);
  });
});
