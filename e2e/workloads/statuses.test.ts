import { expect, it } from 'vitest';
import { SETTINGS_STATUSES, STATUSES, type StatusCase } from '../../gateway/management/workloads/testdata/statuses.ts';
import { startRegistry } from '../../gateway/workloads/runner/testdata/npm-registry.ts';
import { blockScope } from '../harness/scope.ts';
import { sender, startServe } from '../harness/serve.ts';
import { temporaryFolder } from '../harness/vmcp.ts';
import { startHttpBackend } from '../harness/backends/http.ts';

const scope = blockScope();
const known = { name: 'known', group: 'work' };

const nameOf = ({ method, path, status, body }: StatusCase): string =>
  `${String(status)} ${method} ${path.slice(0, 60)} ${JSON.stringify(body ?? '').slice(0, 60)}`;

it('every status of operations 19 to 24 has a real cause', async () => {
  const registry = await startRegistry([]);
  scope.defer(registry.close);
  const { send, api } = await startServe(scope, await temporaryFolder(scope), [], {
    env: { npm_config_registry: registry.url },
  });
  const remote = await startHttpBackend(scope, 'sdk-1-stateful', 'alpha');
  for (const name of ['work', 'empty']) expect((await send('POST', '/groups', { name })).status).toBe(201);
  expect((await send('POST', '/workloads', { ...known, url: remote.url })).status).toBe(201);
  const problem = sender(api, { accept: 'application/problem+json' });
  const answers: string[] = [];
  const expected: string[] = [];
  for (const one of [...SETTINGS_STATUSES, ...STATUSES]) {
    const { status, json } = await problem(one.method, one.path, one.body);
    const { code } = (json ?? {}) as { code?: string };
    answers.push(`${nameOf(one)}: ${String(status)} ${status < 400 ? '' : (code ?? '')}`);
    expected.push(`${nameOf(one)}: ${String(one.status)} ${one.code ?? (one.status < 400 ? '' : (code ?? ''))}`);
  }
  expect(answers).toEqual(expected);
});
