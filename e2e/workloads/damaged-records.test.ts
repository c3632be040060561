import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import { testScope } from '../harness/scope.ts';
import { temporaryFolder } from '../harness/vmcp.ts';
import { serveWorkloads } from './serve-workloads.ts';

it.each([
  ['text that is no JSON', '{"run_config": {"name": "kept"'],
  ['a record of another version', '{"run_config": {}, "desired": "paused", "created_at": "2026-01-01T00:00:00Z"}'],
  ['an empty file', ''],
])('never overwrites %s', async (_, text) => {
  const scope = testScope();
  const state = await temporaryFolder(scope);
  const file = join(state, 'workloads', 'kept.json');
  await mkdir(join(state, 'workloads'));
  await writeFile(file, text);
  const { url } = await startHttpBackend(scope, 'sdk-1-stateful', 'alpha');
  const { send, list, output } = await serveWorkloads(scope, state);
  expect(await list()).toEqual([]);
  expect(output()).toContain(file);
  const requests = [
    ['/workloads', { name: 'kept', url }],
    ['/workloads/import', { name: 'kept', remote_url: url }],
  ] as const;
  for (const [path, body] of requests) {
    const { status, text: answer } = await send('POST', path, body);
    expect(status).toBe(409);
    expect(answer).toContain(`the record of "kept" in ${file} is damaged`);
  }
  await send('DELETE', '/workloads/kept');
  expect(await readFile(file, 'utf8')).toBe(text);
  expect((await send('POST', '/workloads', { name: 'other', url })).status).toBe(201);
  await rm(file);
  expect((await send('POST', '/workloads', { name: 'kept', url })).status).toBe(201);
});
