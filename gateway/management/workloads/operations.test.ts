import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { OperationError } from '../../http/endpoint/request-error.ts';
import { WORKLOAD_ERRORS } from '../../workloads/workloads.ts';
import { OPERATIONS } from '../operations.ts';
import { READING_ERRORS } from '../registry/errors.ts';
import { startManagementServer, type Answer } from '../testdata/management-server.ts';
import { inMemoryWorkloads, workloadOf } from './testdata/in-memory-workloads.ts';
import { STATUSES } from './testdata/statuses.ts';

const P = '/api/v1beta';
const PROBLEM = { accept: 'application/problem+json' };

async function start(initial = [workloadOf({ name: 'known', group: 'work' })], lines: readonly string[] = []) {
  const workloads = inMemoryWorkloads(initial, { lines });
  const now = (): number => Date.parse('2026-01-31T12:00:00Z');
  const { send } = await startManagementServer({ workloads: () => workloads, now });
  for (const name of ['work', 'empty']) await send('POST', `${P}/groups`, { name });
  return {
    workloads,
    send: (method: string, path: string, body?: unknown) => send(method, `${P}${path}`, body, PROBLEM),
  };
}

const codeOf = ({ json }: Answer): unknown => (json as { code?: unknown } | undefined)?.code;

/** Fails if the body does not have the shape of the operation. */
function checkBody(id: string, { json }: Answer): void {
  const schema = OPERATIONS.find((operation) => operation.id === id)?.success.body;
  if (schema) expect(Value.Errors(schema, json)).toEqual([]);
}

describe('operations of the specification', () => {
  it.each(STATUSES.map(({ body, ...rest }) => [rest, body] as const))('answers %j', async (request, body) => {
    const { send } = await start();
    const answer = await send(request.method, request.path, body);
    expect([answer.status, codeOf(answer)]).toEqual([request.status, request.code]);
    if (answer.status === 202) expect(answer.text).toBe('');
  });
});

describe('bulk operations', () => {
  it.each(['delete', 'stop', 'start', 'restart'])('%s the workloads that are named or in the group', async (verb) => {
    const stopped = workloadOf({ name: 'stopped', group: 'work' }, { status: 'stopped' });
    const { workloads, send } = await start([workloadOf({ name: 'known', group: 'work' }), stopped]);
    await send('POST', `/workloads/${verb}`, { group: 'work' });
    await send('POST', `/workloads/${verb}`, { names: ['a', 'b', 'a'] });
    const method = verb === 'delete' ? 'remove' : verb;
    expect(workloads.calls).toEqual([
      [method, ['known', 'stopped']],
      [method, ['a', 'b']],
    ]);
  });

  it('counts a workload without a group as one of the default group', async () => {
    const { workloads, send } = await start([workloadOf({ name: 'alone' })]);
    await send('POST', '/workloads/stop', { group: 'default' });
    expect(workloads.calls).toEqual([['stop', ['alone']]]);
  });
});

describe('operations on one workload', () => {
  it.each([
    ['DELETE', '', 'remove'],
    ['POST', '/stop', 'stop'],
    ['POST', '/start', 'start'],
    ['POST', '/restart', 'restart'],
  ])('%s %s answers 202, 404 for an unknown name and 400 for a malformed one', async (method, suffix, called) => {
    const { workloads, send } = await start();
    expect((await send(method, `/workloads/known${suffix}`)).status).toBe(202);
    expect(codeOf(await send(method, `/workloads/unknown${suffix}`))).toBe('workload_not_found');
    expect(codeOf(await send(method, `/workloads/.known${suffix}`))).toBe('invalid_name');
    expect(workloads.calls).toEqual([[called, ['known']]]);
  });

  it('reaches workloads that are named like an operation', async () => {
    const { send } = await start([workloadOf({ name: 'delete' })]);
    expect((await send('GET', '/workloads/delete')).status).toBe(200);
    expect((await send('DELETE', '/workloads/delete')).status).toBe(202);
    const { status, headers } = await send('PUT', '/workloads/delete');
    expect([status, headers.get('allow')]).toEqual([405, 'POST']);
  });

  it('creates a workload and names its path', async () => {
    const { send } = await start();
    const created = await send('POST', '/workloads', { name: 'files', image: 'npx://files' });
    expect([created.status, created.json, created.headers.get('location')]).toEqual([
      201,
      { name: 'files', port: 4000 },
      `${P}/workloads/files`,
    ]);
    expect((await send('POST', '/workloads', { image: 'npx://files' })).status).toBe(400);
  });

  it('has a status with its reason', async () => {
    const { send } = await start([workloadOf({ name: 'a' }, { status: 'error', status_context: 'port in use' })]);
    expect((await send('GET', '/workloads/a/status')).json).toEqual({ status: 'error', status_context: 'port in use' });
  });
});

describe('errors of the store', () => {
  const expected = (code: string, status: number): number => (code === 'group_not_found' ? 400 : status);
  const codes = Object.entries(WORKLOAD_ERRORS).filter(([code]) => code !== 'workload_not_found');

  it.each(codes)('answers %s of a create', async (code, { status }) => {
    const { workloads, send } = await start();
    workloads.failure = new OperationError(code, 'because');
    const { json } = await send('POST', '/workloads', { name: 'files', image: 'npx://files' });
    expect(json).toMatchObject({ status: expected(code, status), code, detail: 'because' });
  });

  it.each(Object.entries(READING_ERRORS))(
    'answers %s of the registry that a create names',
    async (code, { status }) => {
      const { workloads, send } = await start();
      workloads.failure = new OperationError(code, 'because');
      const { json } = await send('POST', '/workloads', { name: 'echo', registry: 'default', server: 'echo' });
      expect(json).toMatchObject({ status, code, detail: 'because' });
    },
  );

  it('row 101: answers 422 with the settings of an entry that the request must repeat', async () => {
    const { workloads, send } = await start();
    const confirm = { permission_profile: { write: ['/etc'] } };
    const body = { name: 'echo', registry: 'default', server: 'echo' };
    workloads.failure = new OperationError('confirmation_required', 'because', { confirm });
    const { json } = await send('POST', '/workloads', body);
    expect(json).toMatchObject({ status: 422, code: 'confirmation_required', detail: 'because', confirm });
    const { errors } = OPERATIONS.find(({ id }) => id === 'createWorkload')!;
    expect(Value.Errors(errors['confirmation_required']!.members!['confirm']!, confirm)).toEqual([]);
  });

  const ofEdit = codes.filter(([code]) => !['workload_exists', 'server_not_found'].includes(code));
  it.each(ofEdit)('answers %s of an edit', async (code, { status }) => {
    const { workloads, send } = await start();
    workloads.failure = new OperationError(code);
    const { json } = await send('POST', '/workloads/known/edit', {});
    expect(json).toMatchObject({ status: expected(code, status), code });
  });
});

describe('list', () => {
  it('has running workloads by default, and those in every state with all=true', async () => {
    const of = (name: string, status: 'running' | 'auth_retrying' | 'stopped') => workloadOf({ name }, { status });
    const { send } = await start([
      of('c', 'stopped'),
      of('b', 'auth_retrying'),
      of('B', 'running'),
      of('a', 'running'),
    ]);
    const names = async (query: string) => {
      const answer = await send('GET', `/workloads${query}`);
      checkBody('listWorkloads', answer);
      return (answer.json as { workloads: { name: string }[] }).workloads.map(({ name }) => name);
    };
    expect(await names('')).toEqual(['B', 'a', 'b']);
    expect(await names('?all=TRUE')).toEqual(['B', 'a', 'b']);
    expect(await names('?all=true')).toEqual(['B', 'a', 'b', 'c']);
    expect(await names('?all=true&group=work')).toEqual([]);
  });
});

describe('export and import', () => {
  it('imports what it exported, also with durations of other programs and keys in any case', async () => {
    const { workloads, send } = await start([workloadOf({ name: 'known', env_vars: {}, port: 4001 })]);
    const exported = await send('GET', '/workloads/known/export');
    checkBody('exportWorkload', exported);
    expect(exported.json).toEqual({
      schema_version: 'v0.1.0',
      ...{ name: 'known', image: 'npx://server', transport: 'stdio', proxy_mode: 'streamable-http', host: '' },
      ...{ port: 4001, permission_profile: null },
    });
    const foreign = {
      ...(exported.json as object),
      name: 'copy',
      oidc_config: { Issuer: 'https://issuer.example', JWKSURL: 'https://issuer.example/keys', Scopes: null },
      rate_limit_config: { shared: { maxTokens: 1, refillPeriod: 60_000_000_000 } },
    };
    const imported = await send('POST', '/workloads/import', foreign);
    expect([imported.status, imported.headers.get('location')]).toEqual([201, `${P}/workloads/copy`]);
    expect(workloads.calls).toEqual([
      [
        'import',
        expect.objectContaining({
          oidc_config: { issuer: 'https://issuer.example', jwksurl: 'https://issuer.example/keys' },
          rate_limit_config: { shared: { maxTokens: 1, refillPeriod: '1m0s' } },
        }),
      ],
    ]);
  });

  it.each([
    [{}, 'bad_request'],
    [{ name: 'a', unknown: 1 }, 'bad_request'],
    [{ name: 'a', schema_version: 'v9' }, 'bad_request'],
    [{ name: 'a', rate_limit_config: { shared: { refillPeriod: 'soon' } } }, 'invalid_workload'],
  ])('refuses to import %j', async (body, code) => {
    const { send } = await start();
    const answer = await send('POST', '/workloads/import', body);
    expect([answer.status, codeOf(answer)]).toEqual([400, code]);
  });
});

describe('logs', () => {
  it('sends the last lines as text', async () => {
    const { workloads, send } = await start(undefined, ['one', 'two']);
    const { headers, text } = await send('GET', '/workloads/known/logs');
    expect([headers.get('content-type'), text]).toEqual(['text/plain; charset=utf-8', 'one\ntwo\n']);
    await send('GET', '/workloads/known/logs?tail=5&since=2026-01-31T10:00:00%2B01:00');
    await send('GET', '/workloads/known/proxy-logs?tail=0&since=1h30m');
    expect(workloads.calls.map(([, options]) => options)).toEqual([
      { source: 'server', tail: 1000 },
      { source: 'server', tail: 5, since: Date.parse('2026-01-31T09:00:00Z') },
      { source: 'proxy', tail: 0, since: Date.parse('2026-01-31T10:30:00Z') },
    ]);
  });

  it.each([
    ['/workloads/unknown/logs', 404],
    ['/workloads/unknown/logs?follow=true', 404],
    ['/workloads/.hidden/logs', 400],
    ['/workloads/known/logs?tail=-1', 400],
    ['/workloads/known/logs?tail=10001', 400],
    ['/workloads/known/logs?since=yesterday', 400],
    ['/workloads/known/logs?since=2026-13-31T10:00:00Z', 400],
    ['/workloads/known/logs?follow=perhaps', 400],
  ])('answers %s by %i', async (path, status) => {
    const { send } = await start();
    expect((await send('GET', path)).status).toBe(status);
  });
});
