import { expect, it } from 'vitest';
import { hasRedis, startRedis } from '../../harness/redis.ts';
import { ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';
import { testScope, type Scope } from '../../harness/scope.ts';
import { bearerOf } from '../credential-backend.ts';
import { ScriptedLogin } from '../scripted-login.ts';
import { SDKS } from '../sdk-login.ts';
import { openBearerSession } from '../bearer-session.ts';
import { newKeys } from './manifests.ts';
import { OAuthClient } from './oauth-client.ts';
import { leaksIn, secretsOf, tsidOf } from './secrets.ts';
import { startAuthServer, type Gateway } from './gateway.ts';

const REDIRECT = 'https://confidential.example/callback';
const PASSWORD = 'password-of-the-store-0123456789';

/** Events that prove a complete tour. */
const EVENTS = [
  ...['client_registered', 'consent_granted', 'login_leg_ok', 'code_issued', 'token_issued', 'token_refreshed'],
  ...['revoked', 'code_replay', 'request_refused', 'upstream_refreshed', 'upstream_token_dead'],
];

/** Secrets that were issued or shown during the tour. */
type Secrets = Set<string>;

/** Runs each client library from the first 401 to the revocation. */
async function sdkTour(scope: Scope, gateway: Gateway, secrets: Secrets): Promise<void> {
  for (const [name, connect] of SDKS) {
    const login = new ScriptedLogin(name.toLowerCase().replaceAll(/\W+/gu, '-'));
    const client = await connect(scope, gateway.url, login);
    for (const tool of ['files_whoami', 'posts_whoami', 'vault_whoami']) await client.call(tool);
    const tsid = tsidOf(login.accessToken);
    login.spoilAccessToken();
    secrets.add(login.accessToken);
    await client.call('files_whoami');
    const body = new URLSearchParams({ token: login.refreshToken, client_id: login.clientId });
    await fetch(`${gateway.issuer}/oauth/revoke`, { method: 'POST', body });
    for (const secret of [...login.secrets, ...secretsOf(login.browser), tsid]) secrets.add(secret);
  }
}

/** Sends rejected requests to every endpoint that receives a secret. */
async function refusedTour(gateway: Gateway, secrets: Secrets): Promise<void> {
  const { issuer } = gateway;
  const browser = new ScriptedBrowser({ user: 'mallory', clients: [REDIRECT] });
  const client = await OAuthClient.register(issuer, {
    redirect_uris: [REDIRECT],
    token_endpoint_auth_method: 'client_secret_basic',
  });
  const tokens = await client.login(browser, { redirectUri: REDIRECT });
  const flow = await client.begin({ redirectUri: REDIRECT });
  const callback = await browser.login(flow.url);
  const code = callback.searchParams.get('code') ?? '';
  const post = (path: string, form: Readonly<Record<string, string>>, authorization?: string) =>
    fetch(`${issuer}${path}`, {
      method: 'POST',
      body: new URLSearchParams(form),
      ...(authorization !== undefined && { headers: { authorization } }),
    });
  const verifier = `${flow.verifier.slice(0, -4)}AAAA`;
  const wrong = `Basic ${Buffer.from(`${client.client.client_id}:${'w'.repeat(40)}`).toString('base64')}`;
  const grant = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT, code_verifier: verifier };
  await post('/oauth/token', grant, wrong);
  await post('/oauth/token', { ...grant, client_id: client.client.client_id });
  await post(`/oauth/token?code=${code}&access_token=${tokens.access_token}`, grant, wrong);
  await post('/oauth/introspect', { token: tokens.access_token }, wrong);
  await post('/oauth/revoke', { token: tokens.refresh_token ?? '' }, wrong);
  await expect(client.redeem(callback, { ...flow, verifier }, REDIRECT)).rejects.toThrow();
  await expect(client.redeem(callback, flow, REDIRECT)).rejects.toThrow();
  const stranger = new ScriptedBrowser({ user: 'mallory' });
  const ofProviders = browser.visited.filter(({ pathname }) => pathname === '/oauth/callback');
  for (const url of ofProviders) await stranger.open(url);
  await stranger.open(`${issuer}/oauth/callback?state=${'s'.repeat(43)}&code=${'c'.repeat(43)}`);
  await stranger.open(`${issuer}/oauth/userinfo?access_token=${tokens.access_token}`);
  await fetch(`${issuer}/oauth/logout?id_token_hint=${tokens.id_token ?? ''}`);
  const registered = [client.client.client_secret, client.client['registration_access_token']];
  const given = [
    ...registered.filter((one) => typeof one === 'string'),
    's'.repeat(43),
    'c'.repeat(43),
    'w'.repeat(40),
  ];
  const granted = [tokens.access_token, tokens.refresh_token ?? '', tokens.id_token ?? '', tsidOf(tokens.access_token)];
  for (const one of [...given, ...granted, flow.verifier, flow.state, flow.nonce, verifier, ...secretsOf(browser)])
    secrets.add(one);
}

/** Uses a revoked grant and a provider that is down. */
async function deadUpstreamTour(gateway: Gateway, secrets: Secrets): Promise<void> {
  const { chat, corp } = gateway.around;
  chat.accessSeconds = 30;
  const browser = new ScriptedBrowser({ user: 'zoe' });
  const client = await OAuthClient.register(gateway.issuer);
  const tokens = await client.login(browser);
  const session = await openBearerSession(gateway.url, tokens.access_token);
  expect((await session.call('posts_whoami')).status).toBe(200);
  expect(chat.counts.refresh).toBeGreaterThan(0);
  chat.revoke('zoe');
  gateway.around.backends.posts.refuses = () => true;
  expect((await session.call('posts_whoami')).status).toBe(401);
  await corp.kill();
  await client.login(new ScriptedBrowser({ user: 'zoe' })).catch(() => undefined);
  for (const one of [tokens.access_token, tokens.refresh_token ?? '', tokens.id_token ?? '', ...secretsOf(browser)])
    secrets.add(one);
}

it.runIf(hasRedis)('row 57: a whole tour at debug level prints no secret', async () => {
  const scope = testScope();
  const keys = newKeys();
  const redis = await startRedis(scope, { config: [`requirepass ${PASSWORD}`] });
  const kvstore = {
    addr: `127.0.0.1:${String(redis.port)}`,
    aclUserConfig: { passwordSecretRef: { name: 'keys', key: 'password' } },
  };
  const gateway = await startAuthServer(scope, {
    kvstore,
    keys,
    secrets: { password: PASSWORD },
    operational: { logLevel: 'debug' },
    authServer: { allowConfidentialClientRegistration: true, insecureAllowConfidentialOverLoopbackHTTP: true },
  });
  const secrets: Secrets = new Set([PASSWORD, keys.hmac, keys.signing.split('\n')[1] ?? '']);
  await sdkTour(scope, gateway, secrets);
  await refusedTour(gateway, secrets);
  await deadUpstreamTour(gateway, secrets);
  const { around } = gateway;
  const sent = Object.values(around.backends).flatMap(({ seen }) => seen.map(({ headers }) => bearerOf(headers) ?? ''));
  for (const one of [...sent, ...around.chat.issued, ...around.exchanger.issued, around.corpClient.secret])
    secrets.add(one);

  const printed = () => [gateway.vmcp.output(), ...around.corp.lines()].join('\n');
  for (const event of EVENTS) await expect.poll(printed).toContain(`"event":"${event}"`);
  const output = printed();
  expect(output).toContain('"level":"debug"');
  expect(secrets.size).toBeGreaterThan(100);
  for (const secret of [...secrets].slice(0, 20))
    expect(leaksIn(`${output}{"code":"${secret}"}`, [secret])).not.toEqual([]);
  expect(leaksIn(output, secrets)).toEqual([]);
});
