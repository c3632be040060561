import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ApiError, KubeClient, type KubeClientOptions } from './client.ts';
import { inClusterConnection, type Connection } from './connection.ts';
import { isAsNewAs, ownType, pathOf, resourceOf, RESOURCES, type KubeObject } from './resource.ts';
import { refuse, WatchServer } from './testdata/watch-server.ts';

async function started(
  options: KubeClientOptions = {},
  connect: (connection: Connection) => Connection = (connection) => connection,
) {
  const server = new WatchServer();
  const client = new KubeClient(connect(await server.listen()), options);
  onTestFinished(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
  });
  return { server, client };
}

const failure = async (request: Promise<unknown>): Promise<ApiError> => {
  const thrown = await request.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof ApiError)) throw new Error('no ApiError was thrown', { cause: thrown });
  return thrown;
};

const configMap: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'ns' } };

describe('KubeClient', () => {
  it.each<[what: string, ask: (client: KubeClient) => Promise<unknown>, line: string, type?: string]>([
    ['get', (it) => it.get(RESOURCES.ConfigMap, 'ns', 'a'), 'GET /api/v1/namespaces/ns/configmaps/a'],
    ['get of a namespace', (it) => it.get(RESOURCES.Namespace, undefined, 'ns'), 'GET /api/v1/namespaces/ns'],
    [
      'list',
      (it) => it.list(ownType('MCPServer'), { labelSelector: 'a=b', fieldSelector: 'metadata.name=c' }),
      'GET /apis/vmcp.dev/v1alpha1/mcpservers?labelSelector=a%3Db&fieldSelector=metadata.name%3Dc',
    ],
    [
      'create',
      (it) => it.create(RESOURCES.ConfigMap, 'ns', configMap),
      'POST /api/v1/namespaces/ns/configmaps',
      'application/json',
    ],
    [
      'apply',
      (it) => it.apply(configMap, { fieldManager: 'me', force: true }),
      'PATCH /api/v1/namespaces/ns/configmaps/a?fieldManager=me&force=true&fieldValidation=Ignore',
      'application/apply-patch+yaml',
    ],
    [
      'apply of a status',
      (it) => it.apply(configMap, { fieldManager: 'me', force: false, subresource: 'status' }),
      'PATCH /api/v1/namespaces/ns/configmaps/a/status?fieldManager=me&force=false&fieldValidation=Ignore',
      'application/apply-patch+yaml',
    ],
    [
      'mergePatch',
      (it) => it.mergePatch(RESOURCES.Deployment, 'ns', 'a', {}),
      'PATCH /apis/apps/v1/namespaces/ns/deployments/a',
      'application/merge-patch+json',
    ],
    [
      'mergePatch by the keys of lists',
      (it) => it.mergePatch(RESOURCES.Deployment, 'ns', 'a', {}, { isStrategic: true }),
      'PATCH /apis/apps/v1/namespaces/ns/deployments/a',
      'application/strategic-merge-patch+json',
    ],
    ['update', (it) => it.update(configMap), 'PUT /api/v1/namespaces/ns/configmaps/a', 'application/json'],
    [
      'delete',
      (it) => it.delete(RESOURCES.ConfigMap, 'ns', 'a'),
      'DELETE /api/v1/namespaces/ns/configmaps/a',
      'application/json',
    ],
    ['getJson', (it) => it.getJson('/version'), 'GET /version'],
  ])('sends the expected path and content type for %s', async (_what, ask, line, type) => {
    const { server, client } = await started();
    await ask(client);
    const [{ method, path, query, headers } = { query: new URLSearchParams(), headers: {} }] = server.requests;
    expect(`${method ?? ''} ${path ?? ''}${query.size > 0 ? `?${query.toString()}` : ''}`).toBe(line);
    expect(headers['content-type']).toBe(type);
  });

  it('sends the uid as a precondition of a delete', async () => {
    const { server, client } = await started();
    await client.delete(RESOURCES.ConfigMap, 'ns', 'a', { uid: 'u', propagationPolicy: 'Background' });
    expect(JSON.parse(server.requests[0]?.body ?? '')).toEqual({
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions: { uid: 'u' },
      propagationPolicy: 'Background',
    });
  });

  it('adds apiVersion and kind to items, and requests only metadata with metadataOnly', async () => {
    const { server, client } = await started();
    server.put('a');
    const { items } = await client.list(RESOURCES.ConfigMap, { metadataOnly: true });
    expect(items).toMatchObject([{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }]);
    await client.get(RESOURCES.ConfigMap, 'ns', 'a', { metadataOnly: true });
    expect(server.requests.map(({ headers }) => headers.accept)).toEqual([
      'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
      'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    ]);
  });

  it('returns undefined for a missing object, and succeeds when an object to delete is missing', async () => {
    const { server, client } = await started();
    server.nextLists.push(refuse(404, 'NotFound'), refuse(404, 'NotFound'));
    expect(await client.get(RESOURCES.Secret, 'ns', 'a')).toBeUndefined();
    await client.delete(RESOURCES.Secret, 'ns', 'a');
  });

  it.each([
    [403, 'Forbidden', 'Forbidden'],
    [409, 'Conflict', 'Conflict'],
    [409, 'AlreadyExists', 'AlreadyExists'],
    [410, 'Gone', 'Expired'],
    [422, 'Invalid', 'Invalid'],
    [500, '', 'InternalError'],
  ])('throws an ApiError with status and reason for %i %s', async (status, said, reason) => {
    const { server, client } = await started();
    server.nextLists.push(refuse(status, said));
    expect(await failure(client.list(RESOURCES.Pod))).toMatchObject({ status, reason, message: `refused: ${said}` });
    expect(server.requests).toHaveLength(1);
  });

  it('derives the reason from the HTTP status when the reply is no Status object', async () => {
    const { server, client } = await started();
    server.nextLists.push((_request, response) => response.writeHead(503).end('<html>starting</html>'));
    expect(await failure(client.list(RESOURCES.Pod))).toMatchObject({
      status: 503,
      reason: 'ServiceUnavailable',
      message: '<html>starting</html>',
    });
  });

  it.each([[429], [503]])('retries a write that a busy server refused with %i', async (status) => {
    const { server, client } = await started();
    server.nextLists.push(refuse(status, '', { 'retry-after': '1' }));
    const begun = performance.now();
    await client.apply(configMap, { fieldManager: 'me', force: true });
    expect(performance.now() - begun).toBeGreaterThan(990);
    expect(server.requests.map(({ body }) => body)).toEqual([JSON.stringify(configMap), JSON.stringify(configMap)]);
  });

  it('gives up after five attempts and reports the time in Retry-After', async () => {
    const { server, client } = await started();
    for (let i = 0; i < 9; i += 1) server.nextLists.push(refuse(429, 'TooManyRequests', { 'retry-after': '0' }));
    expect(await failure(client.list(RESOURCES.Pod))).toMatchObject({ reason: 'TooManyRequests', retryAfterMs: 0 });
    expect(server.requests).toHaveLength(5);
  });

  it('stops an aborted write that is running or waits for a retry', async () => {
    const { server, client } = await started();
    const lost = () => new ApiError({ status: 409, reason: 'Conflict', message: 'leads no more' });
    const writes: ((signal: AbortSignal) => Promise<unknown>)[] = [
      (signal) => client.apply(configMap, { fieldManager: 'me', force: true, signal }),
      (signal) => client.create(RESOURCES.ConfigMap, 'ns', configMap, { signal }),
      (signal) => client.mergePatch(RESOURCES.ConfigMap, 'ns', 'a', {}, { signal }),
      (signal) => client.update(configMap, { signal }),
      (signal) => client.delete(RESOURCES.ConfigMap, 'ns', 'a', { signal }),
    ];
    for (const write of writes) {
      for (const answer of [refuse(429, '', { 'retry-after': '1' }), () => undefined]) {
        const end = new AbortController();
        server.requests.length = 0;
        server.nextLists.push(answer);
        const failed = failure(write(end.signal));
        await expect.poll(() => server.requests.length).toBe(1);
        await sleep(50);
        end.abort(lost());
        expect(await failed).toMatchObject({ status: 409, message: 'leads no more' });
        expect(await failure(write(end.signal))).toMatchObject({ message: 'leads no more' });
        expect(server.requests).toHaveLength(1);
      }
    }
  });

  it('throws Unreachable, Timeout or InvalidReply without a valid reply', async () => {
    const silent = await started({ requestTimeoutMs: 300 });
    silent.server.nextLists.push(() => undefined);
    expect(await failure(silent.client.list(RESOURCES.Pod))).toMatchObject({ status: 0, reason: 'Timeout' });
    silent.server.nextLists.push((_request, response) => response.end('{"metadata":'));
    expect(await failure(silent.client.list(RESOURCES.Pod))).toMatchObject({ status: 0, reason: 'InvalidReply' });
    silent.server.nextLists.push((_request, response) => response.socket?.resetAndDestroy());
    expect(await failure(silent.client.list(RESOURCES.Pod))).toMatchObject({ status: 0, reason: 'Unreachable' });
    const nobody = await started({}, (connection) => ({ ...connection, baseUrl: 'http://127.0.0.1:1' }));
    expect(await failure(nobody.client.list(RESOURCES.Pod))).toMatchObject({ status: 0, reason: 'Unreachable' });
  });

  it('serves requests while many watches are open', async () => {
    const { server, client } = await started({ maxConcurrent: 1 });
    const end = new AbortController();
    const watches = Array.from({ length: 20 }, async () => {
      const events = client.watch(RESOURCES.Pod, { resourceVersion: '1', signal: end.signal });
      for await (const { type } of events) return type;
      return 'ended';
    });
    await expect.poll(() => server.watches.length).toBe(20);
    await client.list(RESOURCES.Pod);
    end.abort();
    expect(new Set(await Promise.all(watches))).toEqual(new Set(['ended']));
  });

  it('reads long watch events that are split across chunks', async () => {
    const { server, client } = await started();
    const end = new AbortController();
    onTestFinished(() => {
      end.abort();
    });
    const seen: unknown[] = [];
    void (async () => {
      const events = client.watch(RESOURCES.ConfigMap, { resourceVersion: '1', signal: end.signal });
      for await (const { object } of events) seen.push((object['data'] as { x: string }).x.length);
    })();
    await expect.poll(() => server.watches.length).toBe(1);
    const line = JSON.stringify({
      type: 'ADDED',
      object: { metadata: { name: 'ä' }, data: { x: 'ä€'.repeat(300_000) } },
    });
    const bytes = Buffer.from(`${line}\n${line}\n`).toString('latin1');
    for (const part of [bytes.slice(0, 61), bytes.slice(61, 900_001), bytes.slice(900_001)]) {
      server.watches[0]?.raw(Buffer.from(part, 'latin1') as unknown as string);
      await sleep(20);
    }
    await expect.poll(() => seen).toEqual([600_000, 600_000]);
  });
});

describe('inClusterConnection', () => {
  const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };

  it('throws outside of a pod', () => {
    expect(() => inClusterConnection({})).toThrow('KUBERNETES_SERVICE_HOST');
  });

  it('reads token and CA certificate again after they rotate', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'vmcp-pod-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const connection = inClusterConnection(env, folder);
    await expect(connection.authorization()).rejects.toThrow('cannot be read');
    const write = (file: string, text: string) => writeFile(join(folder, file), text);
    await Promise.all([write('token', 'one\n'), write('ca.crt', 'CA 1'), write('namespace', 'here')]);
    expect(connection).toMatchObject({ baseUrl: 'https://[fd00::1]:443', namespace: 'here' });
    expect(await connection.authorization()).toBe('Bearer one');
    const before = connection.tls();
    expect(connection.tls()).toBe(before);
    await Promise.all([write('token', 'two'), write('ca.crt', 'CA 2')]);
    await expect.poll(() => connection.authorization(), { timeout: 3_000 }).toBe('Bearer two');
    await expect.poll(() => connection.tls().ca, { timeout: 3_000 }).toBe('CA 2');
  });

  it('reads the token for each request and never includes it in an error', async () => {
    let token = 'canary-1';
    const { server, client } = await started({}, (connection) => ({
      ...connection,
      authorization: () => Promise.resolve(`Bearer ${token}`),
    }));
    await client.list(RESOURCES.Pod);
    token = 'canary-2';
    server.nextLists.push(refuse(401, 'Unauthorized'));
    const error = await failure(client.list(RESOURCES.Pod));
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer canary-1', 'Bearer canary-2']);
    expect(`${error.message} ${error.stack ?? ''} ${JSON.stringify(error)} ${String(error.cause)}`).not.toContain(
      'canary',
    );
  });
});

describe('resources', () => {
  it('are found by apiVersion and kind of an object', () => {
    for (const type of Object.values(RESOURCES)) {
      const apiVersion = type.group === '' ? type.version : `${type.group}/${type.version}`;
      expect(resourceOf({ apiVersion, kind: type.kind })).toBe(type);
    }
    expect(resourceOf({ apiVersion: 'vmcp.dev/v1alpha1', kind: 'MCPServerEntry' })).toEqual(ownType('MCPServerEntry'));
    expect(() => resourceOf({ apiVersion: 'v2', kind: 'Pod' })).toThrow('v2 Pod');
  });

  it('have paths in which names are escaped', () => {
    expect(pathOf(RESOURCES.Pod, { namespace: 'a/b', name: 'c d', subresource: 'attach' })).toBe(
      '/api/v1/namespaces/a%2Fb/pods/c%20d/attach',
    );
  });

  it.each([
    ['9', '10', false],
    ['10', '9', true],
    ['10', '10', true],
    ['11', '12', false],
  ])('version %s is as new as %s: %s', (a, b, expected) => {
    expect(isAsNewAs(a, b)).toBe(expected);
  });
});
