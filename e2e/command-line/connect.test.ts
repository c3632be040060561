import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import { openSession } from '../harness/clients/raw.ts';
import { entry, group, virtualServer, yaml } from '../harness/manifests.ts';
import { testScope } from '../harness/scope.ts';
import { startVmcp, temporaryFolder, vmcpResult, writeFiles } from '../harness/vmcp.ts';

interface Configuration {
  readonly mcpServers: Readonly<Record<string, { readonly url: string }>>;
}

it('connects Claude Code to the running gateway, and restores its file', async () => {
  const scope = testScope();
  const { url } = await startHttpBackend(scope, 'sdk-1-stateful', 'alpha');
  const files = { 'all.yaml': yaml(group(), virtualServer(), entry('alpha', url)) };
  const vmcp = await startVmcp(scope, { files, args: ['--watch'] });
  const home = await temporaryFolder(scope);
  const file = join(home, '.claude.json');
  const original = '{"numStartups": 3, "mcpServers": {"mine": {"command": "node", "args": []}}}';
  writeFileSync(file, original);
  await expect.poll(vmcp.stdout).toContain(vmcp.url);

  const connect = (...args: string[]) =>
    vmcpResult(scope, ['connect', 'claude-code', '--state', vmcp.state, ...args], { env: { HOME: home } });
  expect(await connect()).toMatchObject({ code: 0, stderr: '' });
  const { mcpServers } = JSON.parse(readFileSync(file, 'utf8')) as Configuration;
  const session = await openSession(mcpServers['gateway']?.url ?? 'no URL');
  expect(await session.tools()).toContain('alpha_echo');

  expect(await connect('--remove')).toMatchObject({ code: 0, stderr: '' });
  expect(readFileSync(file, 'utf8')).toBe(original);

  await writeFiles(vmcp.folder, { 'second.yaml': yaml(virtualServer({}, { name: 'second' })) });
  await expect.poll(vmcp.stdout).toContain('second ');
  expect(await connect()).toMatchObject({
    code: 2,
    stderr: 'several virtual servers run (default/gateway, default/second): choose one with --name\n',
  });
  await vmcp.stop();
  expect(existsSync(join(vmcp.state, 'running.json'))).toBe(false);
  expect(await connect()).toMatchObject({
    code: 1,
    stdout: '',
    stderr: `no vmcp up runs with the state folder ${vmcp.state}: start it, or name the URL with --url\n`,
  });
});
