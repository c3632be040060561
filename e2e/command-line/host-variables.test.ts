import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import { openSession, raw, textOf } from '../harness/clients/raw.ts';
import { entry, gatewayOver, server } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { printOnFailure, testScope } from '../harness/scope.ts';
import { startVmcp, temporaryFolder, vmcpResult, writeFiles } from '../harness/vmcp.ts';

const EVERYTHING = 'npx://@modelcontextprotocol/server-everything';
const keyed = server('keyed', EVERYTHING, { env: [{ name: 'API_TOKEN', fromEnv: 'KEYED_TOKEN' }] });

it('serves the other servers while a variable and a Secret are missing, and adds a server when its value appears', async () => {
  const scope = testScope();
  const { url } = await startHttpBackend(scope, 'sdk-1-stateful', 'alpha');
  const secrets = join(await temporaryFolder(scope), 'secrets');
  await mkdir(secrets);
  const header = { headerName: 'X-Key', valueSecretRef: { name: 'beta', key: 'token' } };
  const beta = entry('beta', url, 'streamable-http', { headerForward: { addHeadersFromSecret: [header] } });
  const files = gatewayOver([entry('alpha', url), beta, keyed]);
  const vmcp = await startVmcp(scope, { files, args: ['--watch', '--secrets-dir', secrets] });
  printOnFailure(() => vmcp.output().slice(-4_000));
  const status = async () => (await raw(`${vmcp.management}/status`)).body;
  const session = await openSession(vmcp.url);
  await eventually('alpha is listed', async () => (await session.tools()).includes('alpha_echo'));
  expect(await session.tools()).not.toContain('keyed_get-env');
  expect(vmcp.output()).toContain('default/gateway runs without keyed: see its problem above [HostVariableNotSet]');
  expect(vmcp.output()).toContain('default/gateway runs without beta: see its problem above [SecretNotFound]');
  expect(vmcp.output()).toContain(join(secrets, 'beta', 'token'));
  expect(await status()).toContain('left out');
  const { problems } = JSON.parse(await status()) as { problems: { reason: string; path: string }[] };
  expect(problems.map(({ reason, path }) => `${path} ${reason}`).sort()).toEqual([
    'vmcp.backends.beta SecretNotFound',
    'vmcp.backends.keyed HostVariableNotSet',
  ]);

  await writeFiles(vmcp.folder, { '.env': 'KEYED_TOKEN="canary-1"\n' });
  await eventually('keyed is listed', async () => (await session.tools()).includes('keyed_get-env'));
  expect(textOf(await session.call('keyed_get-env'))).toContain('"API_TOKEN": "canary-1"');
  await writeFiles(secrets, { 'beta/token': 'canary-2' });
  await eventually('beta is listed', async () => (await session.tools()).includes('beta_echo'));
  await eventually('both are announced', () => /\+keyed/u.test(vmcp.output()) && /\+beta/u.test(vmcp.output()));
  expect(await status()).not.toContain('left out');
  expect((await status()) + vmcp.output()).not.toContain('canary');
});

it('starts nothing with --strict while a variable is missing', async () => {
  const scope = testScope();
  const folder = await temporaryFolder(scope);
  await writeFiles(folder, gatewayOver([keyed]));
  const { code, stderr } = await vmcpResult(scope, ['up', folder, '--strict', '--state', join(folder, 'state')]);
  expect(stderr).toMatch(/keyed: spec\.env\[0\]\.fromEnv: the variable KEYED_TOKEN .* \[HostVariableNotSet\]\n/u);
  expect(stderr).toMatch(/1 problem in 1 file\nnothing was started\n$/u);
  expect(code).toBe(2);
});
