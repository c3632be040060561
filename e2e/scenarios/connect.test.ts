import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import { openSession } from '../harness/clients/raw.ts';
import { entry, group, virtualServer, yaml } from '../harness/manifests.ts';
import { testScope } from '../harness/scope.ts';
import { startVmcp, temporaryFolder, vmcpResult } from '../harness/vmcp.ts';

interface Configuration {
  readonly mcpServers: Readonly<Record<string, { readonly url: string }>>;
}

it('connects Claude Code to the running gateway, and restores its file', async () => {
  const scope = testScope();
  const { url } = await startHttpBackend(scope, 'sdk-1-stateful', 'alpha');
  const vmcp = await startVmcp(scope, { files: { 'all.yaml': yaml(group(), virtualServer(), entry('alpha', url)) } });
  const home = await temporaryFolder(scope);
  const file = join(home, '.claude.json');
  const original = '{"numStartups": 3, "mcpServers": {"mine": {"command": "node", "args": []}}}';
  writeFileSync(file, original);
  await expect.poll(vmcp.stdout).toContain(vmcp.url);

  const connect = (...args: string[]) =>
    vmcpResult(scope, ['connect', 'claude-code', '--state', vmcp.state, ...args], { env: { HOME: home } });
  expect(await connect()).toMatchObject({ code: 0, stderr: '' });
  const { mcpServers } = JSON.parse(readFileSync(file, 'utf8')) as Configuration;
  const [, name = ''] = Object.keys(mcpServers);
  const session = await openSession(mcpServers[name]?.url ?? 'no URL');
  expect(await session.tools()).toContain('alpha_echo');

  expect(await connect('--remove')).toMatchObject({ code: 0, stderr: '' });
  expect(readFileSync(file, 'utf8')).toBe(original);
  await vmcp.stop();
  expect(await connect()).toMatchObject({
    code: 1,
    stdout: '',
    stderr: `no vmcp up runs with the state folder ${vmcp.state}: start it, or name the URL with --url\n`,
  });
});
