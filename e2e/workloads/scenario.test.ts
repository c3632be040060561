import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sdkV1 } from '../harness/clients/sdk-v1.ts';
import { freePort } from '../harness/free-port.ts';
import { runWorkloadScenario } from '../harness/management/workload-scenario.ts';
import { eventually } from '../harness/poll.ts';
import { testScope } from '../harness/scope.ts';
import { runVmcp, temporaryFolder } from '../harness/vmcp.ts';

it('vmcp serve goes through the scenario that a cluster goes through', async () => {
  const scope = testScope();
  const port = String(await freePort());
  const state = join(await temporaryFolder(scope), 'state');
  const env = { VMCP_SECRETS_PASSWORD: 'password of the scenario' };
  const run = await runVmcp(scope, ['serve', '--port', port, '--state', state], { env });
  const base = `http://127.0.0.1:${port}`;
  await eventually('the API answers', async () => (await fetch(`${base}/api/v1beta/workloads`)).ok);
  const body = JSON.stringify({ provider_type: 'encrypted' });
  expect((await fetch(`${base}/api/v1beta/secrets`, { method: 'POST', body })).status).toBe(201);
  const callTool = async (url: string): Promise<void> => {
    const { outcomes } = await sdkV1({ transport: 'streamable-http', url }, [
      { op: 'call', name: 'echo', args: { message: 'managed' } },
    ]);
    expect(JSON.stringify(outcomes)).toContain('managed');
  };
  const server = {
    image: 'npx://@modelcontextprotocol/server-everything',
    transport: 'stdio',
    cmd_arguments: ['stdio'],
  };
  const titles = await runWorkloadScenario({ base, server, callTool, timeoutMs: 40_000 }).catch((error: unknown) => {
    throw new Error(run.output().slice(-4_000), { cause: error });
  });
  expect(titles).toContain('exports the same again');
});
