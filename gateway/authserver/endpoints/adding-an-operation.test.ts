import { afterAll, beforeAll, expect, it } from 'vitest';
import { given } from '../testdata/given-config.ts';
import { copySources, type SourceCopy } from '../../../e2e/harness/source-copy.ts';

let copy: SourceCopy;

/** Copies the sources and adds an endpoint to the copy: one file, and its line in the registry. */
beforeAll(async () => {
  copy = await copySources(['gateway']);
  const [before, after] = ['CreateEndpoint[] = [\n', 'CreateEndpoint[] = [\n  toyEndpoint,\n'];
  await copy.register('gateway/authserver/endpoints', 'toy-endpoint.ts', 'toyEndpoint', before, after);
});
afterAll(() => copy.remove());

interface Answer {
  readonly status: number;
  readonly allow: string | null;
  readonly json: unknown;
}

/** Sends requests to the server of the copy and returns its answers. */
async function answersOf(requests: readonly (readonly [method: string, path: string, body?: object])[]) {
  const script = `
    import { createServer } from 'node:http';
    import express from 'express';
    import { ENDPOINTS } from './gateway/authserver/endpoints/index.ts';
    import { oauthErrors } from './gateway/authserver/http/oauth-errors.ts';
    import { readSettings } from './gateway/authserver/read-settings.ts';
    import { memoryStore } from './gateway/authserver/storage/memory.ts';
    import { route } from './gateway/http/endpoint/router.ts';
    const ignore = () => undefined;
    const log = { error: ignore, warn: ignore, info: ignore, debug: ignore };
    const settings = readSettings(${JSON.stringify(given())});
    const context = { settings, store: memoryStore(Date.now), now: Date.now, addressOf: ignore, emit: ignore, log };
    const operations = ENDPOINTS.flatMap((create) => create(context));
    const server = createServer(express().use(route(operations, oauthErrors({ server: 'here', emit: ignore, log }))));
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const answers = [];
    for (const [method, path, body] of ${JSON.stringify(requests)}) {
      const url = 'http://127.0.0.1:' + server.address().port + path;
      const headers = { 'content-type': 'application/json' };
      const reply = await fetch(url, { method, headers, body: body && JSON.stringify(body) });
      answers.push({ status: reply.status, allow: reply.headers.get('allow'), json: await reply.json() });
    }
    console.log(JSON.stringify(answers));
    server.closeAllConnections();
    server.close();`;
  const { code, stdout, stderr } = await copy.node('--input-type=module', '--eval', script);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as Answer[];
}

it('serves an operation that adds one file and one line in the registry', async () => {
  const answers = await answersOf([
    ['PUT', '/toys/ball', { sizes: [1, 3, 2] }],
    ['PUT', '/toys/ball', { sizes: [1, 0] }],
    ['PUT', '/toys/much-too-long', { sizes: [1] }],
    ['GET', '/toys/ball'],
  ]);
  const invalid = (path: string) => ({
    error: 'invalid_request',
    error_description: expect.stringContaining(path) as string,
  });
  expect(answers).toEqual([
    { status: 200, allow: null, json: { name: 'ball', largest: 3 } },
    { status: 400, allow: null, json: invalid('body.sizes[1]') },
    { status: 400, allow: null, json: invalid('path.name') },
    { status: 405, allow: 'PUT', json: { error: 'method_not_allowed', error_description: 'use PUT' } },
  ]);
});
