import { randomBytes } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startIdentityProvider } from '../../../../examples/identity-provider/provider.ts';
import type { DcrConfig } from '../../../contract/run-config/upstreams.ts';
import { registrationStore } from '../open-upstreams.ts';
import { memoryStore } from '../../storage/memory.ts';
import type { Upstream, UpstreamDeps } from '../upstream.ts';
import type { ClientRecord } from './register.ts';
import { Browser, callbackOf } from '../testdata/browser.ts';
import { fileWith, REDIRECT_URI, upstreamError, upstreamFor } from '../testdata/upstream-under-test.ts';

const random = () => randomBytes(32).toString('base64url');

/** Starts `oidc-provider` without a client of the gateway, and an upstream that registers there. */
async function unregistered(dcrOf: (issuer: string) => DcrConfig, type: 'oauth2' | 'oidc' = 'oauth2') {
  const silent = { port: 0, opaque: false, accessTokenSeconds: 60, log: () => undefined };
  let provider = await startIdentityProvider(silent);
  const { issuer } = provider;
  onTestFinished(() => provider.close());
  /** Restarts the provider, which then knows no client. */
  const forget = async (): Promise<void> => {
    await provider.close();
    provider = await startIdentityProvider({ ...silent, port: Number(new URL(issuer).port) });
  };
  const store = memoryStore(Date.now);
  const kept = new Map<string, string>();
  const registrations = registrationStore({
    ...store,
    registrations: {
      get: async (key) => kept.get(key),
      put: async (key, text) => void kept.set(key, text),
      delete: async (key) => void kept.delete(key),
    },
  });
  const client = { scopes: ['openid'], dcr_config: dcrOf(issuer) };
  const endpoints = { authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` };
  const entry =
    type === 'oidc'
      ? { name: 'git', type, oidc_config: { issuer_url: issuer, ...client } }
      : { name: 'git', type, oauth2_config: { ...endpoints, ...client } };
  const replica = (more: Partial<UpstreamDeps> = {}): Upstream =>
    upstreamFor(entry, { registrations, ...more }).upstream;
  return { replica, kept, forget };
}

const discovery = (issuer: string): DcrConfig => ({ discovery_url: `${issuer}/.well-known/openid-configuration` });

async function begin(upstream: Upstream) {
  const redirectUri = await upstream.redirectUri();
  const secrets = { state: random(), codeVerifier: random(), nonce: random(), redirectUri };
  const callback = await new Browser(redirectUri).login(await upstream.authorizationUrl(secrets), 'ann');
  return { secrets, callback: callbackOf(callback) };
}

async function logIn(upstream: Upstream) {
  const { secrets, callback } = await begin(upstream);
  return upstream.login(callback, secrets);
}

describe('oidc-provider as a provider at which the gateway registers', () => {
  it.each<[string, (issuer: string) => DcrConfig]>([
    ['discovery', discovery],
    ['an endpoint', (issuer) => ({ registration_endpoint: `${issuer}/reg` })],
  ])('has one client for all replicas, found by %s', async (_how, dcrOf) => {
    const { replica, kept } = await unregistered(dcrOf);
    const [one, two] = [replica(), replica()];
    expect(one.clientId).toBe('');
    const login = await logIn(one);
    expect(login.grant.accessToken.reveal()).not.toBe('');
    await logIn(two);
    expect([one.clientId === two.clientId, kept.size]).toEqual([true, 1]);
    expect([await two.isClient(one.clientId), await two.isClient('other')]).toEqual([true, false]);
  });

  it.each<[string, (issuer: string) => DcrConfig]>([
    ['discovery', () => ({})],
    ['an endpoint', (issuer) => ({ registration_endpoint: `${issuer}/reg`, software_id: 'vmcp' })],
  ])('has one client of type oidc, found by %s, which logs in and refreshes', async (_how, dcrOf) => {
    const { replica, kept } = await unregistered(dcrOf, 'oidc');
    const [one, two] = [replica(), replica()];
    expect(one.clientId).toBe('');
    const login = await logIn(one);
    expect(login.identity).toMatchObject({ subject: 'ann', synthetic: false });
    expect(await one.refresh({ grant: login.grant, subject: 'ann' })).toMatchObject({ outcome: 'refreshed' });
    await logIn(two);
    expect([one.clientId === two.clientId, kept.size]).toEqual([true, 1]);
    expect([await two.isClient(one.clientId), await two.isClient('other')]).toEqual([true, false]);
  });

  it('is registered with each redirect URI that a later provider may use', async () => {
    const { replica, kept } = await unregistered(() => ({}), 'oidc');
    const upstream = replica({ ownRedirectUri: `${REDIRECT_URI}/git` });
    await logIn(upstream);
    const { registration_uri = '', registration_token = '' } = JSON.parse([...kept.values()][0] ?? '') as ClientRecord;
    const reply = await fetch(registration_uri, { headers: { authorization: `Bearer ${registration_token}` } });
    expect(await reply.json()).toMatchObject({ redirect_uris: [REDIRECT_URI, `${REDIRECT_URI}/git`] });
  });

  it.each(['oauth2', 'oidc'] as const)('gets a new client after it has forgotten the old one: %s', async (type) => {
    const { replica, forget } = await unregistered(type === 'oidc' ? () => ({}) : discovery, type);
    const upstream = replica();
    await logIn(upstream);
    const [first, attempt] = [upstream.clientId, await begin(upstream)];
    await forget();
    const refused = await upstreamError(() => upstream.login(attempt.callback, attempt.secrets));
    expect(refused.providerError).toBe('invalid_client');
    await logIn(upstream);
    expect(upstream.clientId).not.toBe(first);
    expect(await upstream.isClient(first)).toBe(false);
  });

  it('is told the software and the initial access token', async () => {
    const file = await fileWith('initial-token\n');
    const { replica } = await unregistered((issuer) => ({
      ...{ registration_endpoint: `${issuer}/reg`, software_id: 'vmcp', initial_access_token_file: file },
    }));
    // this provider issues no initial access tokens and does not look at one
    expect((await logIn(replica())).identity.synthetic).toBe(true);
  });

  it('causes the usual errors while it is down or offers no registration', async () => {
    const urlOf = async (dcrOf: (issuer: string) => DcrConfig) => {
      const upstream = (await unregistered(dcrOf)).replica();
      return upstreamError(() => upstream.authorizationUrl({ state: random(), codeVerifier: random(), nonce: '' }));
    };
    expect(await urlOf(() => ({ registration_endpoint: 'http://127.0.0.1:9/reg' }))).toMatchObject({
      fault: 'unavailable',
    });
    expect(await urlOf((issuer) => ({ registration_endpoint: `${issuer}/absent` }))).toMatchObject({
      fault: 'rejected',
    });
    const missing = { initial_access_token_file: '/nowhere/token' };
    expect(await urlOf((issuer) => ({ registration_endpoint: `${issuer}/reg`, ...missing }))).toMatchObject({
      fault: 'misconfigured',
    });
  });
});
