import express from 'express';
import { Type } from 'typebox';
import { expect, it, onTestFinished } from 'vitest';
import { listen } from '../../listener.ts';
import { notFound } from '../errors.ts';
import { jsonErrors } from './json-errors.ts';
import { defineOperation, type Operation, sendJson } from './operation.ts';
import { OperationError } from './request-error.ts';
import { route } from './router.ts';

const renameThing = defineOperation({
  method: 'PUT',
  paths: ['/things/{name}'],
  input: {
    path: Type.Object({ name: Type.String({ maxLength: 9 }) }),
    query: Type.Object({ limit: Type.Optional(Type.Integer()), tag: Type.Optional(Type.Array(Type.String())) }),
    body: Type.Object({ title: Type.String(), parts: Type.Array(Type.Object({ size: Type.Integer() })) }),
  },
  errors: { title_taken: { status: 409, message: 'the title is in use: choose another one' } },
  handle: (_req, res, { path, query, body }) => {
    if (body.title === 'taken') throw new OperationError('title_taken');
    if (body.title === 'ours') throw new OperationError('title_taken', 'the title belongs to the server');
    if (body.title === 'odd') throw new OperationError('undeclared');
    if (body.title === 'inherited') throw new OperationError('toString');
    sendJson(res, 200, { path, query, body });
  },
});
const readThing: Operation = {
  method: 'GET',
  paths: ['/things/{name}'],
  head: true,
  handle: (_req, res) => {
    sendJson(res, 200, { read: true });
  },
};

const silent = () => undefined;
const log = { error: silent, warn: silent, info: silent, debug: silent } as never;

async function serve(operations: readonly Operation[] = [renameThing, readThing]) {
  const app = express();
  app.use(route(operations, jsonErrors(log)));
  app.use(notFound('try /things'));
  const listener = await listen(app, '127.0.0.1', 0);
  onTestFinished(() => listener.close());
  return async (method: string, path: string, body?: string, type = 'application/json') => {
    const headers = body === undefined ? {} : { 'content-type': type };
    const init = { method, headers, ...(body !== undefined && { body }) };
    const reply = await fetch(`http://127.0.0.1:${String(listener.port)}${path}`, init);
    const text = await reply.text();
    const json = text === '' ? undefined : (JSON.parse(text) as Record<string, unknown>);
    return { status: reply.status, headers: reply.headers, json };
  };
}

const GOOD = { title: 'shelf', parts: [{ size: 1 }] };

it('passes the validated path, query and body to the handler', async () => {
  const send = await serve();
  const reply = await send('PUT', '/things/a%20b?limit=7&tag=x&tag=y', JSON.stringify(GOOD));
  expect(reply.status).toBe(200);
  expect(reply.json).toEqual({ path: { name: 'a b' }, query: { limit: 7, tag: ['x', 'y'] }, body: GOOD });
  expect(reply.headers.get('cache-control')).toBe('no-store');
});

it.each(['/', '/things', '/things/', '/things/a/b', '/THINGS/a'])(
  'answers 404 for the unknown path %s',
  async (path) => {
    const send = await serve();
    expect(await send('GET', path)).toMatchObject({ status: 404, json: { error: 'not_found' } });
  },
);

it.each(['POST', 'DELETE', 'OPTIONS'])('answers %s with 405 and the allowed methods', async (method) => {
  const send = await serve();
  const reply = await send(method, '/things/a');
  expect([reply.status, reply.headers.get('allow')]).toEqual([405, 'PUT, GET, HEAD']);
  expect(reply.json).toEqual({ error: 'method_not_allowed', message: 'use PUT or GET or HEAD' });
});

it('uses a template for a literal path only if the segment can name an item', async () => {
  const literals = ['/things/search', '/things/all-of-them'];
  const send = await serve([renameThing, { ...readThing, paths: literals }]);
  expect((await send('PUT', '/things/search', JSON.stringify(GOOD))).json).toMatchObject({ path: { name: 'search' } });
  const reply = await send('PUT', '/things/all-of-them', JSON.stringify(GOOD));
  expect([reply.status, reply.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
});

it('answers HEAD as GET without a body, and only for an operation that allows it', async () => {
  const send = await serve();
  expect(await send('HEAD', '/things/a')).toMatchObject({ status: 200, json: undefined });
  const sendToOther = await serve([renameThing]);
  const reply = await sendToOther('HEAD', '/things/a');
  expect([reply.status, reply.headers.get('allow')]).toEqual([405, 'PUT']);
});

it('states type and length in bytes of a reply, also for HEAD', async () => {
  const long: Operation = { ...readThing, handle: (_req, res) => sendJson(res, 200, { text: 'ü'.repeat(2_000) }) };
  const send = await serve([long]);
  const { headers, json } = await send('GET', '/things/a');
  const facts = { 'content-type': 'application/json; charset=utf-8', 'content-length': '4011' };
  expect(Object.fromEntries(headers)).toMatchObject({ ...facts, 'cache-control': 'no-store' });
  expect(json).toEqual({ text: 'ü'.repeat(2_000) });
  expect(Object.fromEntries((await send('HEAD', '/things/a')).headers)).toMatchObject(facts);
});

it('answers a preflight only for an operation with cors', async () => {
  const send = await serve([{ ...readThing, cors: true }]);
  const reply = await send('OPTIONS', '/things/a');
  expect([reply.status, reply.headers.get('access-control-allow-methods')]).toEqual([204, 'GET, HEAD, OPTIONS']);
});

it.each(['text/plain', 'application/x-www-form-urlencoded'])('answers 415 for a body of type %s', async (type) => {
  const send = await serve();
  const reply = await send('PUT', '/things/a', '{}', type);
  expect(reply.status).toBe(415);
  expect(reply.json).toEqual({
    error: 'unsupported_media_type',
    message: 'send application/json without an encoding',
  });
});

it('answers 413 for a body over 64 KiB', async () => {
  const send = await serve();
  const reply = await send('PUT', '/things/a', JSON.stringify({ ...GOOD, title: 'x'.repeat(64 * 1024) }));
  expect([reply.status, reply.headers.get('cache-control')]).toEqual([413, 'no-store']);
  expect(reply.json).toMatchObject({ error: 'body_too_large' });
});

it.each([
  ['text that is not JSON', '/things/a', '{', 'body', 'invalid'],
  ['a missing member', '/things/a', '{"parts":[]}', 'body.title', 'missing'],
  [
    'a nested member of a wrong type',
    '/things/a',
    '{"title":"a","parts":[{"size":1},{"size":"2"}]}',
    'body.parts[1].size',
    'invalid',
  ],
  ['a path parameter', '/things/much-too-long', '{}', 'path.name', 'invalid'],
  ['broken percent-encoding', '/things/%ff', '{}', 'path.name', 'invalid'],
  ['a query parameter of a wrong type', '/things/a?limit=many', '{}', 'query.limit', 'invalid'],
  ['a repeated query parameter', '/things/a?limit=1&limit=2', '{}', 'query.limit', 'repeated'],
])('answers 400 with the path of the problem for %s', async (_name, path, body, at, reason) => {
  const send = await serve();
  const { status, json } = await send('PUT', path, body);
  expect([status, json?.['error']]).toEqual([400, 'invalid_request']);
  expect(json?.['problems']).toEqual([{ path: at, reason, message: expect.any(String) as string }]);
  expect(json?.['message']).toEqual(expect.stringContaining(at));
});

it.each([
  ['taken', 409, { error: 'title_taken', message: 'the title is in use: choose another one' }],
  ['ours', 409, { error: 'title_taken', message: 'the title belongs to the server' }],
  ['odd', 500, { error: 'internal_error', message: 'internal error', request_id: '' }],
  ['inherited', 500, { error: 'internal_error', message: 'internal error', request_id: '' }],
])('answers a declared error with its status, and any other error with 500: %s', async (title, status, json) => {
  const send = await serve();
  expect(await send('PUT', '/things/a', JSON.stringify({ ...GOOD, title }))).toMatchObject({ status, json });
});

it('rejects two operations with the same method and path', () => {
  expect(() => route([readThing, readThing], jsonErrors(log))).toThrow('two operations have the same method');
});

const closedThing = defineOperation({
  method: 'PUT',
  paths: ['/closed'],
  input: {
    query: Type.Object({ page: Type.Optional(Type.Integer()) }, { additionalProperties: false }),
    body: Type.Object({ size: Type.Integer(), more: Type.Optional(Type.Any()) }, { additionalProperties: false }),
  },
  handle: (_req, res) => {
    sendJson(res, 200, {});
  },
});
const members = (count: number): string =>
  Array.from({ length: count }, (_, index) => `"${index.toString(36)}":1`).join(',');

it.each([
  ['1,001 members', '/closed', `{${members(1_001)}}`, 'body has more than 1000 members in one object: send fewer'],
  [
    '1,001 members of an inner object',
    '/closed',
    `{"size":1,"more":[{"a":"},{"},{${members(1_001)}}]}`,
    'body has more than 1000 members in one object: send fewer',
  ],
  [
    '1,001 members whose names hold quotes',
    '/closed',
    `{${'"\\"\\\\":1,'.repeat(1_000)}"a":1}`,
    'body has more than 1000 members in one object: send fewer',
  ],
  [
    '10,001 values in lists',
    '/closed',
    `{"size":1,"more":[[],[${'{},'.repeat(9_998)}1]]}`,
    'body has more than 10000 values: send fewer',
  ],
  [
    '1,001 query parameters',
    `/closed?${'&'.repeat(1_000)}`,
    '{"size":1}',
    'query has more than 1000 parameters: send fewer',
  ],
])('row 83: refuses %s', async (_what, path, body, message) => {
  const send = await serve([closedThing]);
  const { status, json } = await send('PUT', path, body);
  expect([status, json?.['error'], json?.['message']]).toEqual([400, 'invalid_request', message]);
});

it.each([
  ['1,000 members in each object', '/closed', `{"size":1,"more":[{${members(1_000)}},{${members(1_000)}}]}`],
  ['a longer list', '/closed', `{"size":1,"more":[${'1,'.repeat(9_000)}1]}`],
  ['a text of commas and brackets', '/closed', `{"size":1,"more":"${',{\\"'.repeat(2_000)}"}`],
  ['1,000 query parameters', `/closed?${'&'.repeat(999)}`, '{"size":1}'],
])('accepts %s', async (_what, path, body) => {
  const send = await serve([closedThing]);
  expect((await send('PUT', path, body)).status).toBe(200);
});

it('row 83: names the first 20 repeated parameters and the number of the others', async () => {
  const send = await serve([closedThing]);
  const query = Array.from({ length: 400 }, (_, index) => `n${String(index)}&n${String(index)}`).join('&');
  const { status, json } = await send('PUT', `/closed?${query}`, '{"size":1}');
  const problems = json?.['problems'] as readonly object[];
  expect([status, problems.length]).toEqual([400, 21]);
  expect(problems[0]).toMatchObject({ path: 'query.n0', reason: 'repeated' });
  expect(problems.at(-1)).toMatchObject({ path: 'request', message: 'has 380 more problems' });
});

it.each([1, 8, 900])('names unknown members of a body with %i of them', async (count) => {
  const send = await serve([closedThing]);
  const unknown = Array.from({ length: count }, (_, index) => `"n${String(index)}":1`).join(',');
  const { status, json } = await send('PUT', '/closed', `{"size":1,${unknown}}`);
  expect([status, json?.['message']]).toEqual([400, 'body.n0 is not known here']);
  expect(json?.['problems']).toHaveLength(Math.min(count, 8));
});

it('row 83: shortens a name of the client in a problem', async () => {
  const send = await serve([closedThing]);
  const { json } = await send('PUT', '/closed', `{"size":1,"${'n'.repeat(9_000)}":1}`);
  expect(String(json?.['message']).length).toBeLessThan(300);
});
