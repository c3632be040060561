import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import { startIssuer } from '../harness/issuer.ts';
import { testScope } from '../harness/scope.ts';
import { temporaryFolder } from '../harness/vmcp.ts';
import { openBearerSession } from '../scenarios/bearer-session.ts';
import { serveWorkloads } from './serve-workloads.ts';

const policyText = (tool: string): string =>
  JSON.stringify({
    version: '1.0',
    type: 'cedarv1',
    cedar: {
      policies: [
        'permit(principal, action, resource);',
        `forbid(principal, action == Action::"call_tool", resource == Tool::"${tool}");`,
      ],
    },
  });

it('denies a tool by the policy file, limits calls, and does not start without the file', async () => {
  const scope = testScope();
  const state = await temporaryFolder(scope);
  const file = join(state, 'policy.json');
  await writeFile(file, policyText('add'));
  const { send, find, reaches } = await serveWorkloads(scope, state);
  const issuer = await startIssuer(scope);
  const backend = await startHttpBackend(scope, 'sdk-1-stateful', 'alpha');
  const login = {
    oidc_config: { issuer: issuer.url, jwksurl: issuer.jwksUrl, audience: 'vmcp', allowPrivateIP: true },
  };
  const config = {
    ...{ schema_version: 'v0.1.0', name: 'a', remote_url: backend.url, transport: 'streamable-http' },
    authz_config_path: file,
    rate_limit_config: { perUser: { maxTokens: 2, refillPeriod: '1h0m0s' } },
  };
  const anonymous = await send('POST', '/workloads/import', config);
  expect(anonymous).toMatchObject({ status: 400, text: expect.stringContaining('authz_config_path') as string });
  expect(anonymous.text).toContain('rate_limit_config.perUser');

  expect(await send('POST', '/workloads/import', { ...config, ...login })).toMatchObject({ status: 201 });
  await reaches('a', 'running');
  const session = async (sub: string) => openBearerSession((await find('a')).url, issuer.token({ sub, aud: 'vmcp' }));
  const ann = await session('ann');
  const denied = await ann.call('add', { a: 1, b: 2 });
  expect([denied.status, denied.body]).toEqual([200, expect.stringContaining('denied by policy')]);
  expect((await ann.call('echo', { text: 'hi' })).body).toContain('hi');
  expect((await ann.call('echo', { text: 'hi' })).body).toContain('hi');
  const limited = await ann.call('echo', { text: 'hi' });
  expect([limited.status, limited.body]).toEqual([200, expect.stringContaining('Rate limit exceeded')]);
  expect((await (await session('ben')).call('echo', { text: 'hi' })).body).toContain('hi');
  expect((await send('GET', '/workloads/a/export')).json).toMatchObject({ ...config, ...login });

  await writeFile(file, policyText('echo')); // read at the next start
  expect((await send('POST', '/workloads/a/restart')).status).toBe(202);
  await expect
    .poll(async () => (await (await session('eve')).call('echo', { text: 'hi' })).body, { timeout: 20_000 })
    .toContain('denied by policy');

  await rm(file);
  await send('POST', '/workloads/a/restart');
  await expect
    .poll(async () => (await send('GET', '/workloads/a/status')).json, { timeout: 20_000 })
    .toMatchObject({ status: 'error', status_context: expect.stringContaining(`${file} cannot be read`) as string });
  await expect(fetch((await find('a')).url)).rejects.toThrow();

  await writeFile(file, policyText('add'));
  await send('POST', '/workloads/a/restart');
  await reaches('a', 'running');
  await writeFile(file, '');
  const edited = await send('POST', '/workloads/a/edit', { authz_config: file, tools: ['echo', 'add'] });
  expect(edited).toMatchObject({ status: 400, text: expect.stringContaining('holds no document') as string });
  expect((await (await session('joe')).call('add', { a: 1, b: 2 })).body).toContain('denied by policy');
});
