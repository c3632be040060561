import { readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import { freePort } from '../harness/free-port.ts';
import { eventually } from '../harness/poll.ts';
import { testScope, type Scope } from '../harness/scope.ts';
import { startServe } from '../harness/serve.ts';
import { temporaryFolder } from '../harness/vmcp.ts';

interface Details {
  readonly tools: readonly string[];
  readonly env_vars: Readonly<Record<string, string>>;
}

/** Starts an npm registry that answers nothing before `answer` is called, and then that there is no such package. */
async function startSlowRegistry(scope: Scope) {
  let requests = 0;
  let answer: () => void = () => undefined;
  const allowed = new Promise<void>((resolve) => (answer = resolve));
  const server = createServer((_, response) => {
    requests += 1;
    void allowed.then(() => response.writeHead(404).end('{}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  scope.defer(() => {
    answer();
    server.close();
  });
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`;
  return {
    url,
    requests: () => requests,
    answer: () => {
      answer();
    },
  };
}

async function start(scope: Scope, env: Readonly<Record<string, string>> = {}) {
  const state = await temporaryFolder(scope);
  const serve = await startServe(scope, state, [], { env });
  const { url } = await startHttpBackend(scope, 'sdk-1-stateful', 'alpha');
  const names = async (): Promise<string[]> => readdir(join(state, 'workloads'));
  return { ...serve, state, url, names };
}

describe('concurrent changes', () => {
  it('create one of twenty workloads with the same name, and one of twenty with the same port', async () => {
    const { send, url } = await start(testScope());
    const twins = Array.from({ length: 20 }, () => send('POST', '/workloads', { name: 'twin', url }));
    const statuses = (await Promise.all(twins)).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([201, ...Array<number>(19).fill(409)]);
    const port = await freePort();
    const neighbours = Array.from({ length: 20 }, (_, index) =>
      send('POST', '/workloads', { name: `neighbour-${String(index)}`, url, proxy_port: port }),
    );
    const answers = (await Promise.all(neighbours)).map(({ status }) => status);
    expect(answers.toSorted()).toEqual([201, ...Array<number>(19).fill(400)]);
  });

  it('give every one of 100 workloads a port of its own', async () => {
    const { send, url, stop } = await start(testScope());
    const created = Array.from({ length: 100 }, (_, index) =>
      send('POST', '/workloads', { name: `w-${String(index)}`, url }),
    );
    const ports = (await Promise.all(created)).map(({ json }) => (json as { port: number }).port);
    expect(new Set(ports).size).toBe(100);
    expect(await stop()).toEqual({ code: 0, signal: null });
  });

  it('apply one of 100 edits as a whole, and the last one', async () => {
    const { send, url } = await start(testScope());
    await send('POST', '/workloads', { name: 'edited', url });
    const edit = (index: number) =>
      send('POST', '/workloads/edited/edit', { tools: [`t${String(index)}`], env_vars: { N: `t${String(index)}` } });
    const answers = await Promise.all(Array.from({ length: 100 }, (_, index) => edit(index)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const details = async () => (await send('GET', '/workloads/edited')).json as Details;
    const { tools, env_vars } = await details();
    expect(tools).toEqual([env_vars['N']]);
    await edit(100);
    await expect.poll(async () => (await send('GET', '/workloads/edited/status')).json).toEqual({ status: 'running' });
    expect(await details()).toMatchObject({ tools: ['t100'], env_vars: { N: 't100' } });
  });

  it('end in one state, whatever their order is', async () => {
    const { send, url, names } = await start(testScope());
    const name = 'raced';
    const changes = [
      () => send('DELETE', `/workloads/${name}`),
      () => send('POST', '/workloads', { name, url }),
      () => send('POST', `/workloads/${name}/edit`, { tools: ['echo'] }),
      () => send('POST', `/workloads/${name}/restart`),
      () => send('POST', `/workloads/${name}/stop`),
    ];
    for (let round = 0; round < 60; round += 1) {
      const order = changes.map((change) => ({ change, at: Math.random() })).toSorted((one, two) => one.at - two.at);
      const answers = await Promise.all(order.map(({ change }) => change()));
      expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
    }
    await send('DELETE', `/workloads/${name}`);
    await eventually('it is gone', async () =>
      (await send('GET', '/workloads?all=true')).text.includes('"workloads":[]'),
    );
    expect(await names()).toEqual([]);
    expect((await send('POST', '/workloads', { name, url })).status).toBe(201);
  });

  it('create no workload in a group that is deleted while its package is installed', async () => {
    const scope = testScope();
    const registry = await startSlowRegistry(scope);
    const { send } = await start(scope, { npm_config_registry: registry.url });
    await send('POST', '/groups', { name: 'work' });
    const created = send('POST', '/workloads', { name: 'late', group: 'work', image: 'npx://@vmcp-example/slow' });
    await eventually('the package is being installed', () => registry.requests() > 0);
    expect((await send('DELETE', '/groups/work')).status).toBe(204);
    expect(await created).toMatchObject({ status: 400, text: expect.stringContaining('no group "work"') as string });
    expect((await send('GET', '/workloads/late')).status).toBe(404);
  });

  it('do not bring a deleted workload back by an edit that was on its way', async () => {
    const scope = testScope();
    const registry = await startSlowRegistry(scope);
    const { send, url, names } = await start(scope, { npm_config_registry: registry.url });
    await send('POST', '/workloads', { name: 'gone', url });
    const edited = send('POST', '/workloads/gone/edit', {
      url: '',
      image: 'npx://@vmcp-example/slow',
      transport: 'stdio',
    });
    await eventually('the edit installs its package', () => registry.requests() > 0);
    // the edit that waits behind the first one needs no package
    const later = send('POST', '/workloads/gone/edit', { tools: ['echo'] });
    expect((await send('DELETE', '/workloads/gone')).status).toBe(202);
    await eventually('it is gone', async () => (await names()).length === 0);
    registry.answer();
    expect([(await edited).status, (await later).status]).toEqual([404, 404]);
    expect(await names()).toEqual([]);
  });
});
