import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endpoint, remoteUrl } from './examine-online.ts';
import { httpGet } from './probes.ts';

/** Redirects every HEAD to its login page, and that one to itself, as Spring Authorization Server does. */
const server = createServer((_req, res) => res.writeHead(302, { location: '/login' }).end());
let url = '';

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/oauth2/token`;
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

describe('an endpoint that redirects HEAD for ever', () => {
  it('answers, for the checks of endpoints and of backends', async () => {
    const online = { get: httpGet, env: {} };
    expect(await endpoint({ type: 'endpoint', value: url }, online)).toBeUndefined();
    expect(await remoteUrl({ type: 'url', value: url }, online)).toBeUndefined();
  });

  it('is named as such where a document is expected', async () => {
    await expect(httpGet(url)).rejects.toThrow(/cannot be reached \(too many redirects\)$/u);
  });
});
