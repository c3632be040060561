import { describe, expect, it } from 'vitest';
import { startConformanceServer } from '../conformance/fixture/host.ts';
import { startModernConformanceServer } from '../conformance/fixture/modern/host.ts';
import { findings, runConformance, scenariosOf } from '../conformance/runner.ts';
import { hasHaproxy } from '../harness/proxies/haproxy.ts';
import { startIssuer, type Issuer } from '../harness/issuer.ts';
import { hasRedis, startRedis } from '../harness/redis.ts';
import { startReplicas, sharedParts } from './replicas.ts';
import { testScope, type Scope } from '../harness/scope.ts';

async function startBefore(scope: Scope, backend: string, issuer: Issuer | undefined): Promise<string> {
  const redis = await startRedis(scope);
  const parts = { ...sharedParts(redis, backend), ...(issuer && { issuer }) };
  const authorization = issuer && `Bearer ${issuer.token({ sub: 'ada' })}`;
  return (await startReplicas(scope, parts, { ...(authorization !== undefined && { authorization }) })).url;
}

describe.skipIf(!hasRedis || !hasHaproxy)('three replicas', () => {
  it('pass every check of 2025-11-25, with logins', async () => {
    const scope = testScope();
    const url = await startBefore(scope, (await startConformanceServer(scope)).url, await startIssuer(scope));
    const run = await runConformance(scope, url, ['--suite', 'all', '--spec-version', '2025-11-25']);
    expect(findings(run), run.output).toEqual([]);
    expect(run.exitCode, run.output).toBe(0);
    expect(scenariosOf(run)).toHaveLength(33);
  });

  it('pass every check of 2026-07-28, without logins', async () => {
    const scope = testScope();
    const backend = await startModernConformanceServer(scope, { legacy: true });
    const url = await startBefore(scope, backend.url, undefined);
    const run = await runConformance(scope, url, ['--requirements', '2026-07-28']);
    // the runner skips it, whatever the server does
    expect(
      findings(run).map(({ scenario }) => scenario),
      run.output,
    ).toEqual(['tasks-status-notifications']);
    expect(run.exitCode, run.output).toBe(0);
  });
});
