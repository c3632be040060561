import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import { openSession, raw, textOf } from '../harness/clients/raw.ts';
import { connectV1 } from '../harness/clients/sdk-v1.ts';
import { entry, group, resource, virtualServer, yaml, type Manifest } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { printOnFailure, testScope } from '../harness/scope.ts';
import { startVmcp, writeFiles } from '../harness/vmcp.ts';

const base = yaml(group(), virtualServer());

async function start(...backends: string[]) {
  const scope = testScope();
  const urls = new Map<string, string>();
  for (const name of ['alpha', 'beta']) urls.set(name, (await startHttpBackend(scope, 'sdk-1-stateful', name)).url);
  const file = (name: string): Manifest => entry(name, urls.get(name)!);
  const files = {
    'base.yaml': base,
    ...Object.fromEntries(backends.map((name) => [`${name}.yaml`, yaml(file(name))])),
  };
  const vmcp = await startVmcp(scope, { files, args: ['--watch'] });
  printOnFailure(() => vmcp.output().slice(-4_000));
  const write = (name: string, text = yaml(file(name))) => writeFiles(vmcp.folder, { [`${name}.yaml`]: text });
  return { vmcp, write, remove: (name: string) => rm(join(vmcp.folder, `${name}.yaml`)) };
}

it('adds a new backend to open sessions, notifies them, and keeps running calls', async () => {
  const { vmcp, write } = await start('alpha');
  const session = await openSession(vmcp.url);
  expect(await session.tools()).not.toContain('beta_echo');
  const { client, close } = await connectV1({ transport: 'streamable-http', url: vmcp.url });
  let isNotified = false;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void (isNotified = true));
  await client.listTools();
  const running = session.call('alpha_slow', { ms: 4_000 });
  await write('beta');
  await eventually('beta is listed in the same session', async () => (await session.tools()).includes('beta_echo'));
  expect(textOf(await session.call('beta_echo', { text: 'new' }))).toBe('new');
  expect(textOf(await running)).toBe('waited 4000 ms');
  await eventually('the other client is notified', () => isNotified);
  await expect.poll(vmcp.output).toMatch(/^applied: default\/\S+ {2}\+beta$/mu);
  expect(vmcp.output().match(/MCP URL/gu)).toHaveLength(1);
  expect(textOf(await session.call('alpha_echo', { text: 'old' }))).toBe('old');
  await close();
});

it('removes a deleted backend, whose tools are then unknown', async () => {
  const { vmcp, remove } = await start('alpha', 'beta');
  const session = await openSession(vmcp.url);
  await eventually('beta is listed', async () => (await session.tools()).includes('beta_echo'));
  await remove('beta');
  await eventually('beta is gone', async () => !(await session.tools()).includes('beta_echo'));
  await expect.poll(vmcp.output).toMatch(/^applied: default\/\S+ {2}-beta$/mu);
  expect((await session.call('beta_echo', { text: 'x' })).error).toMatchObject({ code: -32602 });
  expect(textOf(await session.call('alpha_echo', { text: 'stays' }))).toBe('stays');
});

it('applies an edited MCPToolConfig to open sessions, and keeps the last one while it is missing', async () => {
  const { vmcp, write, remove } = await start('alpha');
  const rules = (...toolsFilter: string[]) =>
    yaml(resource('MCPToolConfig', 'rules', { toolsFilter, toolsOverride: { echo: { name: 'say' } } }));
  const aggregation = { tools: [{ workload: 'alpha', toolConfigRef: { name: 'rules' } }] };
  await write('rules', rules('echo'));
  await write('base', yaml(group(), virtualServer({ aggregation })));
  const session = await openSession(vmcp.url);
  const lists = (...tools: string[]) =>
    eventually(`${tools.join()} are listed`, async () => isDeepStrictEqual(await session.tools(), tools));
  await lists('alpha_say');
  expect((await session.call('alpha_add', { a: 1, b: 2 })).error).toMatchObject({ code: -32602 });
  await write('rules', rules('echo', 'add'));
  await lists('alpha_add', 'alpha_say');
  await remove('rules');
  await eventually('the missing config is reported', () => /ToolConfigRefNotFound/u.test(vmcp.output()));
  expect(textOf(await session.call('alpha_say', { text: 'still' }))).toBe('still');
  await lists('alpha_add', 'alpha_say');
});

it('keeps the running configuration when the files have a mistake, and reports it', async () => {
  const { vmcp, write } = await start('alpha');
  const session = await openSession(vmcp.url);
  await write('broken', 'kind: MCPGroup\n\tbad: x');
  await eventually('the mistake is printed', () => /broken\.yaml:2/.test(vmcp.output()));
  expect(textOf(await session.call('alpha_echo', { text: 'still' }))).toBe('still');
  expect((await raw(`${vmcp.origin}/readyz`)).status).toBe(200);
  await write('broken', yaml(group('mended')));
  await write('beta');
  await eventually('the corrected files are used', async () => (await session.tools()).includes('beta_echo'));
});

it('applies a valid edit beside a foreign kind and beside a server with a problem, which keeps its configuration', async () => {
  const { vmcp, write, remove } = await start('alpha');
  const session = await openSession(vmcp.url);
  await write('second', yaml(virtualServer({}, { name: 'second' })));
  const second = await eventually(
    'second is started',
    () => /^(?:default\/)?second\s.*?(http:\S+)/m.exec(vmcp.stdout())?.[1],
  );
  await write('foreign', 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: other}\n');
  await write('second', yaml(virtualServer({ optimizer: { maxToolsToReturn: 3 } }, { name: 'second' })));
  await eventually('the problems are printed', () => /Deployment[^]*default\/second has a problem/.test(vmcp.output()));
  const keeping = await openSession(second);
  await eventually('second still serves', async () => (await keeping.tools()).includes('alpha_echo'));
  await write('beta');
  await eventually('beta is listed', async () => (await session.tools()).includes('beta_echo'));
  expect(await keeping.tools()).not.toContain('beta_echo');
  await remove('second');
  await eventually('second is stopped', () =>
    raw(second).then(
      () => false,
      () => true,
    ),
  );
  expect(textOf(await session.call('beta_echo', { text: 'on' }))).toBe('on');
});

it('applies another conflict strategy without ending the session', async () => {
  const { vmcp, write } = await start('alpha');
  const session = await openSession(vmcp.url);
  await session.tools();
  const aggregation = { conflictResolution: 'priority', conflictResolutionConfig: { priorityOrder: ['alpha'] } };
  await write('base', yaml(group(), virtualServer({ aggregation })));
  await eventually('names have no prefix', async () => (await session.tools()).includes('echo'));
  expect(textOf(await session.call('echo', { text: 'hi' }))).toBe('hi');
});

it('starts an added virtual server, stops a removed one, and keeps the sessions of the others', async () => {
  const { vmcp, write, remove } = await start('alpha');
  const session = await openSession(vmcp.url);
  const added = async (count: number) => {
    const lines = () => [...vmcp.stdout().matchAll(/^(?:default\/)?second\s.*?(http:\S+)/gm)];
    return eventually(`second is started ${count} times`, () => lines()[count - 1]?.[1]);
  };
  for (const count of [1, 2]) {
    await write('second', yaml(virtualServer({}, { name: 'second' })));
    const url = await added(count);
    await eventually('second serves', async () => (await (await openSession(url)).tools()).includes('alpha_echo'));
    await remove('second');
    await eventually('second is stopped', () =>
      raw(url).then(
        () => false,
        () => true,
      ),
    );
  }
  expect(textOf(await session.call('alpha_echo', { text: 'still' }))).toBe('still');
});
