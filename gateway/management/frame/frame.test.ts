import { expect, it } from 'vitest';
import { OPERATIONS } from '../operations.ts';
import { startManagementServer } from '../testdata/management-server.ts';

const P = '/api/v1beta';

it('sends the security headers and the media type with every answer, also with an empty one', async () => {
  const { send } = await startManagementServer();
  await send('POST', `${P}/groups`, { name: 'a' });
  for (const { headers } of [await send('GET', `${P}/groups`), await send('DELETE', `${P}/groups/a`)]) {
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    expect(headers.get('content-type')).toBe('application/json');
  }
});

it('reads a body of any media type, with keys in any case, null members and text after it', async () => {
  const { send } = await startManagementServer();
  const body = '{"NAME": "zed", "groups": null, "unknown": 1} trailing';
  expect((await send('POST', `${P}/clients`, body, { 'content-type': 'text/plain' })).json).toEqual({
    name: 'zed',
    groups: ['default'],
  });
});

it('serves a collection with a slash at the end', async () => {
  const { send } = await startManagementServer();
  expect((await send('GET', `${P}/groups/`)).status).toBe(200);
});

it('answers an unknown path with the text 404 page not found', async () => {
  const { send } = await startManagementServer();
  const { status, text, headers } = await send('GET', `${P}/nothing`);
  expect([status, text, headers.get('content-type')]).toEqual([
    404,
    '404 page not found\n',
    'text/plain; charset=utf-8',
  ]);
});

it('answers a wrong method with 405, the allowed methods and an empty body', async () => {
  const { send } = await startManagementServer();
  const { status, text, headers } = await send('PUT', `${P}/groups`, {});
  expect([status, text, headers.get('allow')]).toEqual([405, '', 'GET, POST']);
});

it('answers 413 for a body over 1 MiB, and reads one below', async () => {
  const { send } = await startManagementServer();
  const ofSize = (size: number) => JSON.stringify({ name: 'zed', padding: 'x'.repeat(size) });
  const refused = await send('POST', `${P}/clients`, ofSize(1024 * 1024));
  expect([refused.status, refused.text]).toEqual([413, 'Request Entity Too Large\n']);
  expect((await send('POST', `${P}/clients`, ofSize(1024 * 1024 - 100))).status).toBe(200);
});

it('answers an error as problem details if the client asks for them', async () => {
  const { send } = await startManagementServer();
  const { headers, json } = await send('GET', `${P}/groups/nobody`, undefined, { accept: 'Application/Problem+JSON' });
  expect(headers.get('content-type')).toBe('application/problem+json');
  expect(json).toMatchObject({ status: 404, title: 'Not Found', code: 'group_not_found' });
  const wrong = await send('PUT', `${P}/groups`, {}, { accept: 'application/problem+json' });
  expect([wrong.headers.get('allow'), wrong.json]).toMatchObject([
    'GET, POST',
    { status: 405, title: 'Method Not Allowed', detail: 'use GET or POST', code: 'method_not_allowed' },
  ]);
});

it('describes every operation in the OpenAPI document', async () => {
  const { send } = await startManagementServer();
  const { openapi, paths } = (await send('GET', '/api/openapi.json')).json as {
    openapi: string;
    paths: Record<string, Record<string, { operationId: string; responses: Record<string, unknown> }>>;
  };
  expect(openapi).toBe('3.1.0');
  const { post } = paths[`${P}/clients/register`] ?? {};
  expect(Object.keys(post?.responses ?? {})).toEqual([
    '200',
    '400',
    '401',
    '403',
    '404',
    '409',
    '413',
    '500',
    '503',
    '504',
  ]);
});

it('answers /health with 204 and the version of vmcp', async () => {
  const { send } = await startManagementServer();
  const { status, headers } = await send('GET', '/health');
  expect([status, headers.get('content-type')]).toEqual([204, null]);
  expect((await send('GET', `${P}/version`)).json).toEqual({ version: '1.2.3' });
});

it('names the process in /health', async () => {
  const [first, second] = [await startManagementServer(), await startManagementServer()];
  const nonceOf = async ({ send }: typeof first) => (await send('GET', '/health')).headers.get('x-server-nonce');
  const nonce = await nonceOf(first);
  expect(nonce).toMatch(/^[\w-]{36}$/u);
  expect(await nonceOf(first)).toBe(nonce);
  expect(await nonceOf(second)).not.toBe(nonce);
});

it.each(OPERATIONS.filter(({ input }) => input.query).map(({ id, method, path }) => ({ id, method, path })))(
  'row 83: refuses 1,001 query parameters of $id',
  async ({ method, path }) => {
    const { send } = await startManagementServer();
    const query = Array.from({ length: 1_001 }, (_, index) => index.toString(36)).join('&');
    const { status, text } = await send(method, `${path.replaceAll(/\{\w+\}/gu, 'default')}?${query}`);
    expect([status, text]).toEqual([400, expect.stringContaining('query has more than 1000 parameters: send fewer')]);
  },
);

it.each([
  [`${P}/groups`, `{"name":"a"${',"a":1'.repeat(1_000)}}`, 'body has more than 1000 members in one object'],
  [`${P}/workloads/stop`, `{"names":[${'"",'.repeat(10_000)}""]}`, 'body has more than 10000 values'],
])('row 83: refuses a body of %s with too many parts', async (path, body, message) => {
  const { send } = await startManagementServer();
  const { status, text } = await send('POST', path, body);
  expect([status, text]).toEqual([400, `${message}: send fewer\n`]);
});
