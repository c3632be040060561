import { expect, it } from 'vitest';
import { startGatewayOver } from '../harness/authenticated-gateway.ts';
import { initializeRequest, MCP_HEADERS, raw } from '../harness/clients/raw.ts';
import { newSigningKey } from '../harness/issuer-keys.ts';
import { startIssuer, type Issuer } from '../harness/issuer.ts';
import { testScope } from '../harness/scope.ts';

const stranger = newSigningKey('ES256', 'stranger');

async function setting(trusted: readonly string[]) {
  const scope = testScope();
  const issuer = await startIssuer(scope);
  const { url } = await startGatewayOver(scope, { backends: [], issuer, incoming: { trusted_proxies: [...trusted] } });
  const send = async (token: string, address: string): Promise<number> => {
    const headers = { ...MCP_HEADERS, authorization: `Bearer ${token}`, 'x-forwarded-for': address };
    return (await raw(url, { method: 'POST', headers, body: initializeRequest() })).status;
  };
  const guess = (kid: string, address: string) =>
    send(issuer.token({ aud: 'vmcp' }, { key: stranger, header: { kid, alg: stranger.alg } }), address);
  expect(await send(issuer.token({ aud: 'vmcp' }), '192.0.2.1')).toBe(200);
  return { issuer, send, guess };
}

const fetches = ({ seen }: Issuer): number => seen.filter(({ endpoint }) => endpoint === 'jwks').length;

it('finds a new key at once although another client sends tokens with invented keys', async () => {
  const { issuer, send, guess } = await setting(['127.0.0.0/8']);
  const before = fetches(issuer);
  for (let index = 0; index < 20; index += 1) expect(await guess(`x${String(index)}`, '203.0.113.9')).toBe(401);
  expect(fetches(issuer)).toBe(before + 1);
  issuer.rotate();
  expect(await send(issuer.token({ aud: 'vmcp', sub: 'ann' }), '198.51.100.4')).toBe(200);
  expect(fetches(issuer)).toBe(before + 2);
});

it('fetches the keys at most ten times at once, however many clients invent keys', async () => {
  const { issuer, guess } = await setting(['127.0.0.0/8']);
  const before = fetches(issuer);
  for (let index = 0; index < 60; index += 1) await guess(`x${String(index)}`, `203.0.113.${String(index)}`);
  const made = fetches(issuer) - before;
  expect([made >= 10, made <= 12]).toEqual([true, true]); // one more in 3 s
});

it('does not trust the address that a client claims for itself', async () => {
  const { issuer, guess } = await setting([]);
  const before = fetches(issuer);
  for (let index = 0; index < 10; index += 1) await guess(`x${String(index)}`, `203.0.113.${String(index)}`);
  expect(fetches(issuer)).toBe(before + 1);
});
