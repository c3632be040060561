import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import { sendBytes } from '../harness/clients/bytes.ts';
import { entry, gatewayOver, GROUP } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { testScope } from '../harness/scope.ts';
import { sender, startServe } from '../harness/serve.ts';
import { startVmcp, temporaryFolder } from '../harness/vmcp.ts';

it('shows the servers of files, and names the file for every change', async () => {
  const scope = testScope();
  const remote = await startHttpBackend(scope, 'sdk-1-stateful', 'alpha');
  const vmcp = await startVmcp(scope, { files: gatewayOver([entry('alpha', remote.url)]) });
  const send = sender(`${vmcp.management}/api/v1beta`);
  await eventually('it runs', async () => {
    const { json } = await send('GET', '/workloads');
    const [first] = (json as { workloads: { name: string; status: string }[] }).workloads;
    return first?.name === 'alpha' && first.status === 'running';
  });
  expect(await send('GET', '/workloads/alpha/export')).toMatchObject({
    status: 200,
    json: { name: 'alpha', remote_url: remote.url, transport: 'streamable-http' },
  });
  const listed = (await send('GET', '/workloads')).json as { workloads: object[] };
  const year = expect.stringMatching(/^20/u) as unknown;
  expect(listed.workloads).toMatchObject([{ url: vmcp.url, port: vmcp.port, created_at: year }]);
  expect((await send('GET', '/groups')).json).toMatchObject({ groups: [{ name: 'default' }, { name: GROUP }] });
  expect((await send('GET', `/workloads?group=${GROUP}`)).json).toEqual(listed);
  const changes = [
    ['POST', '/workloads/restart', { group: GROUP }],
    ['POST', '/workloads/alpha/edit', { tools: ['echo'] }],
    ['POST', '/workloads/alpha/restart', undefined],
    ['DELETE', '/workloads/alpha', undefined],
    ['POST', '/workloads/delete', { names: ['alpha'] }],
  ] as const;
  for (const [method, path, body] of changes) {
    const refused = await send(method, path, body);
    expect([path, refused.status]).toEqual([path, 400]);
    expect(refused.text).toMatch(/^\S+\.yaml:\d+ describes "alpha": edit that file instead\n$/u);
  }
  expect((await send('DELETE', `/groups/${GROUP}`)).status).toBe(400);
  expect((await send('GET', '')).json).toMatchObject({
    resources: expect.arrayContaining([expect.objectContaining({ path: '/api/v1beta/workloads' })]) as unknown,
  });
  for (const path of ['/workloads/alpha/logs', '/workloads/alpha/proxy-logs?follow=true']) {
    const refused = await send('GET', path);
    expect([refused.status, refused.text]).toEqual([
      400,
      expect.stringContaining('its lines are in the log of vmcp up'),
    ]);
  }
  expect((await send('POST', '/workloads', { name: 'alpha', url: remote.url })).status).toBe(409);
  expect((await send('POST', '/workloads', { name: 'beta', url: remote.url })).status).toBe(201);
});

it('keeps the entries of workloads in the files of registered clients', async () => {
  const scope = testScope();
  const home = await temporaryFolder(scope);
  const remote = await startHttpBackend(scope, 'sdk-1-stateful', 'alpha');
  const { send } = await startServe(scope, await temporaryFolder(scope), [], { env: { HOME: home } });
  expect((await send('POST', '/clients', { name: 'cursor' })).status).toBe(200);
  const entries = async (): Promise<string[]> => {
    const text = await readFile(join(home, '.cursor', 'mcp.json'), 'utf8').catch(() => '{}');
    return Object.keys((JSON.parse(text) as { mcpServers?: object }).mcpServers ?? {});
  };
  for (const name of ['one', 'two'])
    expect((await send('POST', '/workloads', { name, url: remote.url })).status).toBe(201);
  await eventually('both are there', async () => (await entries()).length === 2);
  expect((await send('POST', '/workloads/two/stop')).status).toBe(202);
  await eventually('that of the stopped one is removed', async () => (await entries()).join() === 'one');
  expect((await send('POST', '/workloads/two/start')).status).toBe(202);
  await eventually('both are there again', async () => (await entries()).length === 2);
  expect((await send('POST', '/groups', { name: 'other' })).status).toBe(201);
  expect((await send('POST', '/workloads/two/edit', { group: 'other' })).status).toBe(200);
  await eventually('only the group is left', async () => (await entries()).join() === 'one', { timeoutMs: 20_000 });
  expect((await send('DELETE', '/workloads/one')).status).toBe(202);
  await eventually('none is left', async () => (await entries()).length === 0);
});

it('rejects a host that is no address of this machine, and names it', async () => {
  const scope = testScope();
  const remote = await startHttpBackend(scope, 'sdk-1-stateful', 'alpha');
  const { send } = await startServe(scope, await temporaryFolder(scope));
  const advice = /^host \S+ cannot be used \(E[A-Z]+\): set an address of this machine, such as 127\.0\.0\.1\n$/u;
  for (const host of ['192.0.2.1', 'nobody.invalid']) {
    const refused = await send('POST', '/workloads', { name: 'far', url: remote.url, host });
    expect(refused.status).toBe(400);
    expect(refused.text).toMatch(advice);
  }
  expect((await send('POST', '/workloads', { name: 'near', url: remote.url })).status).toBe(201);
  const moved = await send('POST', '/workloads/near/edit', { host: '192.0.2.1' });
  expect([moved.status, moved.text]).toEqual([400, expect.stringMatching(advice)]);
});

it('rejects requests that a page of another site causes, before they reach a source', async () => {
  const scope = testScope();
  const env = { GIT_TOKEN: 'of-the-user', VMCP_SKILLS_ALLOW_PRIVATE_IP: '1' };
  const { port } = await startServe(scope, await temporaryFolder(scope), [], { env });
  const asked: (string | undefined)[] = [];
  const host = createServer(({ headers }, res) => {
    asked.push(headers.authorization);
    res.writeHead(404).end();
  });
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  scope.defer(() => host.close());
  const source = `git://127.0.0.1:${String((host.address() as AddressInfo).port)}/a/b`;
  const path = `/api/v1beta/skills/content?ref=${encodeURIComponent(source)}`;
  const image = { method: 'GET', path, lines: ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: no-cors'] };
  expect((await sendBytes(port, image)).status).toBe(403);
  expect(asked).toEqual([]);
  expect((await sendBytes(port, { method: 'GET', path })).status).toBe(404);
  expect(asked).toHaveLength(1);
});
