import type { AddressInfo } from 'node:net';
import express from 'express';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startRedis, type RedisServer } from '../../../e2e/harness/redis.ts';
import { blockScope } from '../../../e2e/harness/scope.ts';
import { boundaryOf } from '../../incoming/boundary-of.ts';
import type { GatewayConfig } from '../../contract/gateway-config.ts';
import { VMCP } from '../../contract/testdata/vmcp-config.ts';
import { ACCESS_TOKEN_TYPE, accessTokenClaims } from '../core/token-endpoint/issued-claims.ts';
import { SigningKeys } from '../keys/signing-keys.ts';
import type { Family } from '../storage/records.ts';
import type { Store } from '../storage/store.ts';
import { redisStore, settingsOf, single } from '../storage/testdata/redis-store.ts';
import { family, SPANS } from '../storage/testdata/samples.ts';
import { createLoginLiveness } from './liveness.ts';

const ISSUER = 'https://login.example';
const RESOURCE = 'https://mcp.example/mcp';
const scope = blockScope();
const log = { error: () => undefined, warn: () => undefined, info: () => undefined, debug: () => undefined };
const keys = new SigningKeys({ files: [], log });
let offsetMs = 0;
const now = (): number => Date.now() + offsetMs;
let redis: RedisServer;
let stores: readonly [Store, Store];
let url = '';

const CONFIG: GatewayConfig = {
  schema_version: 'v0.1.0',
  oidc_config: { issuer: ISSUER, audience: RESOURCE, resourceURL: RESOURCE },
  vmcp: { ...VMCP, incoming: { type: 'oidc' } },
};

beforeAll(async () => {
  redis = await startRedis(scope);
  const settings = settingsOf(single(redis.port), { replyTimeoutMs: 2_000 });
  stores = [await redisStore(settings), await redisStore(settings)];
  const embedded = { keys, liveness: createLoginLiveness(stores[0], now) };
  const boundary = boundaryOf(CONFIG, RESOURCE, { log, now, exposed: false, embedded });
  const app = express();
  app.use(boundary.authenticate, (_req, res) => res.json({ principal: String(res.locals['principal']) }));
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  scope.defer(() => server.close());
  url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/mcp`;
});
afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()));
});

const tokenOf = (login: Family, changes: object = {}): Promise<string> =>
  keys.signer().sign(ACCESS_TOKEN_TYPE, {
    ...accessTokenClaims(login, { issuer: ISSUER, now: now(), lifespanSeconds: 3_600 }, 'jti-1'),
    ...changes,
  });
const call = (token: string): Promise<Response> => fetch(url, { headers: { authorization: `Bearer ${token}` } });

async function newLogin(): Promise<Family> {
  const made = family(now(), { resource: RESOURCE });
  await stores[1].families.create(made, undefined, SPANS);
  return made;
}

it('accepts a token while its login is live, and at most 5 s after another process has ended it', async () => {
  const login = await newLogin();
  const token = await tokenOf(login);
  expect((await call(token)).status).toBe(200);
  await stores[1].families.revoke(login, 3_600_000);
  offsetMs += 5_000;
  const refused = await call(token);
  expect(refused.status).toBe(401);
  expect(refused.headers.get('www-authenticate')).toContain('error="invalid_token"');
});

it('row 41: rejects a token with the login of another user or client, or without a login', async () => {
  const [alice, bob] = [await newLogin(), await newLogin()];
  const bobs = { sub: 'another user', client_id: bob.clientId };
  expect((await call(await tokenOf(alice, bobs))).status).toBe(401);
  expect((await call(await tokenOf(alice, { client_id: 'another client' }))).status).toBe(401);
  expect((await call(await tokenOf(alice, { tsid: 'nobody' }))).status).toBe(401);
  expect((await call(await tokenOf(alice, { tsid: undefined }))).status).toBe(401);
  expect((await call(await tokenOf(alice))).status).toBe(200);
});

it('row 35: rejects a token for another resource', async () => {
  const login = await newLogin();
  expect((await call(await tokenOf({ ...login, resource: 'https://other.example/mcp' }))).status).toBe(401);
});

it('row 67: answers 503 with Retry-After while the store is down, never 401', async () => {
  const token = await tokenOf(await newLogin());
  expect((await call(token)).status).toBe(200);
  await redis.kill();
  offsetMs += 5_000;
  for (let tries = 0; tries < 2; tries += 1) {
    const unavailable = await call(token);
    expect(unavailable.status).toBe(503);
    expect(unavailable.headers.get('retry-after')).toBe('5');
    expect(unavailable.headers.get('www-authenticate')).toBeNull();
  }
});
