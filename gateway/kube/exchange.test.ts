import { readFile } from 'node:fs/promises';
import { createSecureServer } from 'node:http2';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { makeCertificates } from '../../e2e/harness/control-plane/certificates.ts';
import { testScope } from '../../e2e/harness/scope.ts';
import { temporaryFolder } from '../../e2e/harness/vmcp.ts';
import { Exchange } from './exchange.ts';

/** Offers HTTP/2 as kube-apiserver does, and answers nothing. */
async function silentServer() {
  const scope = testScope();
  const { folder, ca } = await makeCertificates(await temporaryFolder(scope));
  const [cert, key] = await Promise.all(['crt', 'key'].map((end) => readFile(join(folder, `apiserver.${end}`))));
  const versions: string[] = [];
  const server = createSecureServer({ cert, key, allowHTTP1: true }, (request) => {
    versions.push(request.httpVersion);
    request.resume();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  scope.defer(() => server.close());
  const { port } = server.address() as AddressInfo;
  const tls = { ca };
  const connection = {
    baseUrl: `https://127.0.0.1:${String(port)}`,
    namespace: 'default',
    tls: () => tls,
    authorization: () => Promise.resolve(undefined),
  };
  const exchange = new Exchange(connection, { maxConcurrent: 8 });
  scope.defer(() => exchange.close());
  return { exchange, versions };
}

it('cancels running and waiting requests repeatedly and stays usable', async () => {
  const { exchange, versions } = await silentServer();
  for (let round = 1; round <= 5; round += 1) {
    const taking = new AbortController();
    const request = { method: 'PATCH', path: '/', body: { round }, signal: taking.signal } as const;
    const all = Array.from({ length: 40 }, () => exchange.json(request));
    const settled = Promise.allSettled(all);
    await expect.poll(() => versions.length, { timeout: 10_000 }).toBe(8 * round);
    taking.abort(new Error('leads no more'));
    for (const one of await settled) expect(one).toMatchObject({ status: 'rejected' });
  }
  expect(new Set(versions)).toEqual(new Set(['1.1']));
});
