import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Value } from 'typebox/value';
import { describe, expect, it, onTestFinished } from 'vitest';
import { OperationError } from '../../http/endpoint/request-error.ts';
import { OPERATIONS } from '../operations.ts';
import { startManagementServer } from '../testdata/management-server.ts';
import { inMemoryWorkloads, workloadOf } from './testdata/in-memory-workloads.ts';

const P = '/api/v1beta';
const SERVER = 'com.example/time';
const OLD = { name: 'time', image: 'example.org/time:1', registry_server_name: SERVER };
const WORKLOADS = [
  workloadOf(OLD),
  workloadOf({ name: 'current', image: 'example.org/time:2', registry_server_name: SERVER }, { status: 'stopped' }),
  workloadOf({ name: 'own' }),
  workloadOf({ name: 'gone', registry_server_name: 'com.example/gone' }),
];

/** Writes a registry whose server needs a key, and returns its path. */
function registryFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-registry-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const variable = { name: 'KEY', description: 'Key.', isRequired: true, isSecret: true };
  const image = { registryType: 'oci', identifier: 'example.org/time:2', transport: { type: 'stdio' } };
  const packages = [{ ...image, environmentVariables: [variable] }];
  const servers = [{ name: SERVER, description: 'Time.', version: '2.0.0', packages }];
  const path = join(folder, 'registry.json');
  const meta = { last_updated: '2026-01-01T00:00:00Z' };
  writeFileSync(path, JSON.stringify({ version: '1.0.0', meta, data: { servers } }));
  return path;
}

async function start() {
  const workloads = inMemoryWorkloads(WORKLOADS);
  const server = await startManagementServer({ workloads: () => workloads });
  const send = (method: string, path: string, body?: unknown) =>
    server.send(method, `${P}${path}`, body, { accept: 'application/problem+json' });
  const local_path = registryFile();
  expect((await send('PUT', '/registry/default', { local_path })).status).toBe(200);
  return { ...server, workloads, send, local_path };
}

const ofCode = (code: string, status: number) => expect.objectContaining({ code, status }) as unknown;
const isDeclared = (id: string, json: unknown): void => {
  const { success } = OPERATIONS.find((operation) => operation.id === id)!;
  expect(Value.Errors(success.body!, json)).toEqual([]);
};

describe('upgrade check', () => {
  it('compares one workload with its registry entry', async () => {
    const { send } = await start();
    const { status, json } = await send('GET', '/workloads/time/upgrade-check');
    isDeclared('checkWorkloadUpgrade', json);
    expect([status, json]).toEqual([
      200,
      {
        result: {
          ...{ workload_name: 'time', registry_server: SERVER, status: 'upgrade-available' },
          ...{ current_image: 'example.org/time:1', candidate_image: 'example.org/time:2' },
          env_var_drift: [{ name: 'KEY', description: 'Key.', required: true, secret: true }],
        },
      },
    ]);
    expect((await send('GET', '/workloads/none/upgrade-check')).json).toEqual(ofCode('workload_not_found', 404));
    expect((await send('GET', '/workloads/.x/upgrade-check')).json).toEqual(ofCode('invalid_name', 400));
  });

  it('compares all workloads, also those that are stopped', async () => {
    const { send, local_path } = await start();
    const statuses = async (): Promise<unknown[]> => {
      const { json } = await send('GET', '/workloads/upgrade-check');
      isDeclared('checkWorkloadUpgrades', json);
      const { results } = json as { results: { workload_name: string; status: string }[] };
      return results.map(({ workload_name: name, status }) => [name, status]);
    };
    expect(await statuses()).toEqual([
      ['current', 'up-to-date'],
      ['gone', 'server-not-found'],
      ['own', 'not-registry-sourced'],
      ['time', 'upgrade-available'],
    ]);
    rmSync(local_path);
    expect(await statuses()).toEqual([
      ['current', 'unknown'],
      ['gone', 'unknown'],
      ['own', 'not-registry-sourced'],
      ['time', 'unknown'],
    ]);
  });
});

describe('upgrade', () => {
  const SECRETS = { secrets: [{ name: 'time-key', target: 'KEY' }] };

  it('edits the image and the variables of a workload', async () => {
    const { workloads, send } = await start();
    const { status, json } = await send('POST', '/workloads/time/upgrade', { ...SECRETS, env: { ZONE: 'UTC' } });
    isDeclared('upgradeWorkload', json);
    expect([status, json]).toEqual([200, { name: 'time', port: 4000 }]);
    const settings = { image: 'example.org/time:2', env_vars: { ZONE: 'UTC' }, ...SECRETS };
    expect(workloads.calls).toEqual([['edit', settings]]);
  });

  it('keeps variables that another edit sets while the registry is read', async () => {
    const { workloads, send } = await start();
    const { edit } = workloads;
    workloads.edit = async (name, change, signal) => {
      await edit(name, { env_vars: { ZONE: 'UTC' } }, signal); // another edit comes first
      return edit(name, change, signal);
    };
    await send('POST', '/workloads/time/upgrade', { ...SECRETS, env: { LEVEL: 'debug' } });
    expect((await workloads.get('time')).config.env_vars).toEqual({ ZONE: 'UTC', LEVEL: 'debug' });
  });

  it.each([
    ['without a required variable', 'time', {}, 'not_upgradable', 422, 'KEY'],
    ['of a workload that is from no registry', 'own', {}, 'not_upgradable', 422, 'edit its image'],
    ['of a server that the registry has no longer', 'gone', {}, 'not_upgradable', 422, 'no longer'],
    ['of an unknown workload', 'none', {}, 'workload_not_found', 404, 'workload'],
    ['with a wrong body', 'time', { env: 1 }, 'bad_request', 400, 'env'],
  ])('%s changes nothing', async (_what, name, body, code, status, word) => {
    const { workloads, send } = await start();
    const { json } = await send('POST', `/workloads/${name}/upgrade`, body);
    expect(json).toMatchObject({ code, status, detail: expect.stringContaining(word) as string });
    expect(workloads.calls).toEqual([]);
  });

  it('answers 422 while the registry cannot be read', async () => {
    const { workloads, send, local_path } = await start();
    rmSync(local_path);
    expect((await send('POST', '/workloads/time/upgrade', SECRETS)).json).toEqual(ofCode('not_upgradable', 422));
    expect(workloads.calls).toEqual([]);
  });

  it.each([
    ['image_not_found', 422],
    ['invalid_workload', 422],
    ['managed_by_files', 422],
    ['refused_by_policy', 403],
    ['changed_meanwhile', 409],
    ['image_unavailable', 503],
    ['engine_unavailable', 503],
    ['undeclared', 500],
  ])('answers %s of the edit by %i', async (code, status) => {
    const { workloads, send } = await start();
    workloads.failure = new OperationError(code);
    expect((await send('POST', '/workloads/time/upgrade', SECRETS)).json).toMatchObject({ status });
  });
});
