import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { KubeClient } from '../kube/client.ts';
import { OPERATIONS } from './operations.ts';
import { startManagementServer, type Answer, type ManagementServer } from './testdata/management-server.ts';

type Request = readonly [method: string, path: string, body?: unknown];

const SECRET = '/secrets/default/keys';

/** Requests that read or change objects of the cluster, by the id of their operation. */
const REQUESTS: Readonly<Record<string, Request>> = {
  listGroups: ['GET', '/groups'],
  createGroup: ['POST', '/groups', { name: 'blue' }],
  getGroup: ['GET', '/groups/blue'],
  deleteGroup: ['DELETE', '/groups/blue'],
  setUpSecrets: ['POST', '/secrets', { provider_type: 'cluster' }],
  listSecrets: ['GET', SECRET],
  createSecret: ['POST', SECRET, { key: 'a', value: 'b' }],
  updateSecret: ['PUT', `${SECRET}/a`, { value: 'b' }],
  deleteSecret: ['DELETE', `${SECRET}/a`],
  discoverClients: ['GET', '/discovery/clients'],
  listClients: ['GET', '/clients'],
  registerClient: ['POST', '/clients', { name: 'cursor' }],
  registerClients: ['POST', '/clients/register', { names: ['cursor'] }],
  unregisterClients: ['POST', '/clients/unregister', { names: ['cursor'] }],
  unregisterClient: ['DELETE', '/clients/cursor'],
  unregisterClientFromGroup: ['DELETE', '/clients/cursor/groups/default'],
  listSkills: ['GET', '/skills?group=default'],
  installSkill: ['POST', '/skills', { name: 'pdf', clients: ['cursor'] }],
  listWorkloads: ['GET', '/workloads?group=default'],
  stopWorkloads: ['POST', '/workloads/stop', { group: 'default' }],
};

/** Starts the API of a cluster whose API server is at this address. */
async function startApi(baseUrl: string): Promise<ManagementServer['send']> {
  const authorization = (): Promise<undefined> => Promise.resolve(undefined);
  const client = new KubeClient({ baseUrl, namespace: 'team', tls: () => ({}), authorization });
  onTestFinished(() => client.close());
  const { send } = await startManagementServer({ cluster: { client, namespace: 'team' } });
  return send;
}

/** Starts a server in the place of the API server that gives every request this answer. */
async function startProxy(status = 503, text = 'no healthy upstream'): Promise<string> {
  const server = createServer((_, res) => res.writeHead(status, { 'content-type': 'application/json' }).end(text));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}

const ask = (send: ManagementServer['send'], [method, path, body]: Request): Promise<Answer> =>
  send(method, `/api/v1beta${path}`, body, { accept: 'application/problem+json' });

describe('while the API server of the cluster is away', () => {
  it.each(Object.entries(REQUESTS))('%s answers 503 engine_unavailable', async (id, request) => {
    const answer = await ask(await startApi('http://127.0.0.1:9'), request);
    const detail = 'the API server of the cluster does not respond: repeat the request later';
    expect([answer.status, answer.json]).toEqual([
      503,
      { type: 'about:blank', title: 'Service Unavailable', status: 503, detail, code: 'engine_unavailable' },
    ]);
    expect(OPERATIONS.find((operation) => operation.id === id)?.errors['engine_unavailable']?.status).toBe(503);
  });

  it('answers 503 if a proxy answers for it', async () => {
    const send = await startApi(await startProxy());
    expect((await ask(send, ['POST', SECRET, { key: 'a', value: 'b' }])).status).toBe(503);
  });
});

describe('while the API server of the cluster refuses requests', () => {
  const MESSAGE = 'user "vmcp" cannot use this resource';

  it.each([
    [401, 'Unauthorized'],
    [403, 'Forbidden'],
    [404, 'NotFound'],
    [405, 'MethodNotAllowed'],
    [409, 'Conflict'],
    [429, 'TooManyRequests'],
  ])('with %i, no operation answers 500 and each answer is declared', { timeout: 60_000 }, async (code, reason) => {
    const status = JSON.stringify({ kind: 'Status', status: 'Failure', code, reason, message: MESSAGE });
    const send = await startApi(await startProxy(code, status));
    const answers = await Promise.all(
      Object.entries(REQUESTS).map(async ([id, request]) => [id, await ask(send, request)] as const),
    );
    for (const [id, answer] of answers) {
      expect([id, answer.status, answer.text]).not.toEqual([id, 500, expect.anything()]);
      if (answer.status === 503 && (code === 401 || code === 403)) expect([id, answer.text]).toEqual([id, expect.stringContaining('cannot use this resource')]); // oxfmt-ignore
    }
  });
});
