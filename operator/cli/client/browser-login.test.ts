import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { BrowserLogin } from './browser-login.ts';

const ISSUER = 'https://idp.example.com';
const REGISTERED = { client_id: 'one', redirect_uris: ['http://127.0.0.1/callback'], issuer: ISSUER };

/** Opens the login at one server, and records the pages that a user sees. */
async function open(stateDir: string, clientId?: string) {
  const shown: URL[] = [];
  const place = { stateDir, clientId, isInteractive: true, show: (url: URL) => void shown.push(url) };
  const login = await BrowserLogin.open('https://tools.example.com/mcp', place);
  onTestFinished(() => {
    login.close();
  });
  return { login, shown };
}

async function stateFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-login-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

/** Starts a login and sends the redirect with these parameters. */
async function redirected(parameters: Readonly<Record<string, string>>, metadata: object = {}): Promise<string> {
  const { login } = await open(await stateFolder());
  await login.clientInformation();
  const authorizationServerMetadata = { issuer: ISSUER, ...metadata } as never;
  login.saveDiscoveryState({ authorizationServerUrl: ISSUER, authorizationServerMetadata });
  const state = login.state();
  login.redirectToAuthorization(new URL(`${ISSUER}/authorize`));
  const code = login.code();
  const url = `${login.redirectUrl}?${new URLSearchParams({ state, ...parameters }).toString()}`;
  await Promise.all([fetch(url), code.catch(() => undefined)]);
  return code;
}

it('returns the code of the redirect', async () => {
  expect(await redirected({ code: 'abc', iss: ISSUER })).toBe('abc');
});

it('rejects a code of another authorization server', async () => {
  await expect(redirected({ code: 'abc', iss: 'https://other.example.com' })).rejects.toThrow('another authorization');
});

it('rejects a code without the issuer that the authorization server promises', async () => {
  const promise = { authorization_response_iss_parameter_supported: true };
  await expect(redirected({ code: 'abc' }, promise)).rejects.toThrow('another authorization');
  expect(await redirected({ code: 'abc', iss: ISSUER }, promise)).toBe('abc');
  expect(await redirected({ code: 'abc' })).toBe('abc');
});

it('registers as a native application', async () => {
  const { login } = await open(await stateFolder());
  expect(login.clientMetadata).toMatchObject({ application_type: 'native' });
});

it('opens web pages only', async () => {
  const { login, shown } = await open(await stateFolder());
  expect(() => {
    login.redirectToAuthorization(new URL('file:///bin/sh'));
  }).toThrow('its URL starts with file:');
  expect(shown).toEqual([]);
});

it('registers again when the port of its registration is in use', async () => {
  const state = await stateFolder();
  const first = await open(state);
  await first.login.clientInformation();
  await first.login.saveClientInformation(REGISTERED);
  expect(await first.login.clientInformation()).toEqual(REGISTERED);

  const beside = await open(state);
  expect(await beside.login.clientInformation()).toBeUndefined();
  first.login.close();
  const later = await open(state);
  expect(await later.login.clientInformation()).toEqual(REGISTERED);
});

it('forgets what the server reports as invalid', async () => {
  const state = await stateFolder();
  const { login } = await open(state);
  await login.clientInformation();
  await login.saveClientInformation(REGISTERED);
  await login.saveTokens({ access_token: 'a', token_type: 'bearer' });
  await login.invalidateCredentials('tokens');
  expect(login.tokens()).toBeUndefined();
  expect((await open(state)).login.tokens()).toBeUndefined();
});

it('uses the client of the command line without a registration, and no tokens of another client', async () => {
  const state = await stateFolder();
  const registered = await open(state);
  await registered.login.clientInformation();
  await registered.login.saveClientInformation(REGISTERED);
  await registered.login.saveTokens({ access_token: 'a', token_type: 'bearer' });
  registered.login.close();

  const named = await open(state, 'vmcp-cli');
  expect(named.login.tokens()).toBeUndefined();
  expect(await named.login.clientInformation()).toEqual({ client_id: 'vmcp-cli' });
  await named.login.saveTokens({ access_token: 'b', token_type: 'bearer' });
  named.login.close();
  expect((await open(state, 'vmcp-cli')).login.tokens()).toMatchObject({ access_token: 'b' });
});
