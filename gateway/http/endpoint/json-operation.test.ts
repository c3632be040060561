import express from 'express';
import { Type } from 'typebox';
import { expect, it, onTestFinished } from 'vitest';
import { listen } from '../../listener.ts';
import { notFound } from '../errors.ts';
import { jsonErrors } from './json-errors.ts';
import { defineOperation, type Operation } from './operation.ts';
import { sendJson } from './replies.ts';
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
