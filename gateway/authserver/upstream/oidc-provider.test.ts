import { randomBytes } from 'node:crypto';
import { onTestFinished, describe, expect, it } from 'vitest';
import { startIdentityProvider } from '../../../examples/identity-provider/provider.ts';
import { Browser, callbackOf } from './testdata/browser.ts';
import { fileWith, oidcEntry, REDIRECT_URI, upstreamError, upstreamFor } from './testdata/upstream-under-test.ts';

const random = () => randomBytes(32).toString('base64url');
const newSecrets = () => ({ state: random(), codeVerifier: random(), nonce: random() });

/** Starts `oidc-provider` with a registered client, and an upstream for it. */
async function registered(method: 'client_secret_basic' | 'client_secret_post' | 'none') {
  const provider = await startIdentityProvider({
    port: 0,
    opaque: false,
    accessTokenSeconds: 60,
    log: () => undefined,
  });
  onTestFinished(() => provider.close());
  const response = await fetch(`${provider.issuer}/reg`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'vmcp',
      redirect_uris: [REDIRECT_URI],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: method,
    }),
  });
  const { client_id, client_secret } = (await response.json()) as { client_id: string; client_secret?: string };
  const secret = client_secret === undefined ? {} : { client_secret_file: await fileWith(`${client_secret}\n`) };
  return upstreamFor(oidcEntry(provider, { client_id, scopes: ['openid'], ...secret }));
}

describe('oidc-provider as the upstream provider', () => {
  it.each(['client_secret_basic', 'client_secret_post', 'none'] as const)('logs in, refreshes: %s', async (method) => {
    const { upstream } = await registered(method);
    const secrets = newSecrets();
    const callback = await new Browser(REDIRECT_URI).login(await upstream.authorizationUrl(secrets), 'ann');
    expect(callback.searchParams.get('state')).toBe(secrets.state);
    const login = await upstream.login(callbackOf(callback), secrets);
    expect(login.identity).toMatchObject({ subject: 'ann', synthetic: false });
    const refreshed = await upstream.refresh({ grant: login.grant, subject: 'ann' });
    if (refreshed.outcome !== 'refreshed') throw new Error(refreshed.reason);
    expect(refreshed.grant.accessToken.reveal()).not.toBe(login.grant.accessToken.reveal());
    expect(await upstream.refresh({ grant: refreshed.grant, subject: 'bob' })).toMatchObject({ outcome: 'dead' });
  });

  it('accepts a code once, and only with the verifier and the nonce of its leg', async () => {
    const { upstream } = await registered('client_secret_basic');
    const browser = new Browser(REDIRECT_URI);
    const run = async () => {
      const secrets = newSecrets();
      return { secrets, callback: callbackOf(await browser.login(await upstream.authorizationUrl(secrets), 'ann')) };
    };
    const first = await run();
    await upstream.login(first.callback, first.secrets);
    expect(await upstreamError(() => upstream.login(first.callback, first.secrets))).toMatchObject({
      fault: 'rejected',
      providerError: 'invalid_grant',
    });
    const second = await run();
    const verifier = { ...second.secrets, codeVerifier: random() };
    expect(await upstreamError(() => upstream.login(second.callback, verifier))).toMatchObject({ fault: 'rejected' });
    const third = await run();
    const nonce = { ...third.secrets, nonce: random() };
    expect(await upstreamError(() => upstream.login(third.callback, nonce))).toMatchObject({ fault: 'bad_reply' });
    const fourth = await run();
    const iss = { ...fourth.callback, iss: 'https://evil.example' };
    expect(await upstreamError(() => upstream.login(iss, fourth.secrets))).toMatchObject({ fault: 'mixed_up' });
    const promised = { ...fourth.callback, iss: undefined };
    expect(await upstreamError(() => upstream.login(promised, fourth.secrets))).toMatchObject({ fault: 'mixed_up' });
  });

  it('asks for the password again on request, and reports a denial', async () => {
    const { upstream } = await registered('none');
    const browser = new Browser(REDIRECT_URI);
    await browser.login(await upstream.authorizationUrl(newSecrets()), 'ann');
    const secrets = { ...newSecrets(), forceLogin: true };
    const again = callbackOf(await browser.login(await upstream.authorizationUrl(secrets), 'bob'));
    expect((await upstream.login(again, secrets)).identity.subject).toBe('bob');
    const silent = new URL(await upstream.authorizationUrl(newSecrets()));
    silent.searchParams.set('prompt', 'none');
    const refusal = callbackOf(await new Browser(REDIRECT_URI).login(silent.href, 'ann'));
    expect(await upstreamError(() => upstream.login(refusal, secrets))).toMatchObject({
      fault: 'denied',
      providerError: 'login_required',
    });
  });
});
