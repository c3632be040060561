import { decodeJwt, decodeProtectedHeader } from 'jose';
import * as oauth from 'oauth4webapi';
import { beforeAll, describe, expect, it } from 'vitest';
import { ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';
import { blockScope } from '../../harness/scope.ts';
import { INSECURE, OAuthClient } from './oauth-client.ts';
import { startAuthServer, type Gateway } from './gateway.ts';

const SCOPE = 'openid profile email offline_access';
const REDIRECT = 'https://confidential.example/callback';

const scope = blockScope();
let gateway: Gateway;

beforeAll(async () => {
  const authServer = { allowConfidentialClientRegistration: true, insecureAllowConfidentialOverLoopbackHTTP: true };
  gateway = await startAuthServer(scope, { authServer });
});

const confidential = () =>
  OAuthClient.register(gateway.issuer, {
    redirect_uris: [REDIRECT],
    token_endpoint_auth_method: 'client_secret_basic',
  });

const browserOf = (user: string) => new ScriptedBrowser({ user, clients: ['http://127.0.0.1:33418/', REDIRECT] });

/** Returns the OAuth error code of an error of the client library. */
async function refusal(call: Promise<unknown>): Promise<{ error: string; status: number }> {
  try {
    await call;
  } catch (error) {
    if (error instanceof oauth.ResponseBodyError) return { error: error.error, status: error.status };
    if (!(error instanceof oauth.WWWAuthenticateChallengeError)) throw error;
    const { error: code } = (await error.response.json()) as { error: string };
    return { error: code, status: error.status };
  }
  throw new Error('the request was accepted');
}

describe('oauth4webapi, which knows only the issuer', () => {
  it('finds the same server in both metadata documents', async () => {
    const [plain, openid] = [
      await OAuthClient.discover(gateway.issuer),
      await OAuthClient.discover(gateway.issuer, 'oidc'),
    ];
    expect(openid).toMatchObject(plain);
    expect(plain.issuer).toBe(gateway.issuer);
    expect(plain.pushed_authorization_request_endpoint).toBeUndefined();
    expect(plain.grant_types_supported).toEqual(['authorization_code', 'refresh_token']);
    expect(plain.code_challenge_methods_supported).toEqual(['S256']);
    expect(openid.userinfo_endpoint).toBeDefined();
  });

  it('registers, logs in, gets a valid ID token, requests userinfo, refreshes and revokes', async () => {
    const client = await OAuthClient.register(gateway.issuer);
    const tokens = await client.login(browserOf('ann'), { scope: SCOPE, resource: gateway.url });
    expect(tokens).toMatchObject({ token_type: 'bearer', scope: SCOPE, expires_in: 3_600 });
    const claims = decodeJwt(tokens.access_token);
    expect(decodeProtectedHeader(tokens.access_token)).toMatchObject({ typ: 'at+jwt', alg: 'ES256' });
    expect(claims).toMatchObject({
      iss: gateway.issuer,
      aud: gateway.url,
      client_id: client.client.client_id,
      scope: SCOPE,
    });
    const id = oauth.getValidatedIdTokenClaims(tokens);
    expect(id).toMatchObject({ sub: claims.sub, aud: client.client.client_id, iss: gateway.issuer });

    const openid = await OAuthClient.discover(gateway.issuer, 'oidc');
    const reply = await oauth.userInfoRequest(openid, client.client, tokens.access_token, INSECURE);
    const info = await oauth.processUserInfoResponse(openid, client.client, claims.sub ?? '', reply);
    expect(info.sub).toBe(claims.sub);

    const renewed = await client.refresh(tokens.refresh_token ?? '');
    expect(decodeJwt(renewed.access_token)).toMatchObject({ sub: claims.sub, aud: gateway.url });
    expect(renewed.refresh_token).not.toBe(tokens.refresh_token);
    await client.revoke(renewed.access_token);
    expect(await refusal(client.refresh(renewed.refresh_token ?? ''))).toEqual({ error: 'invalid_grant', status: 400 });
  });

  it('can validate tokens with the RFC 8414 document only, without a requested scope', async () => {
    const { client } = await OAuthClient.register(gateway.issuer);
    const plain = new OAuthClient(await OAuthClient.discover(gateway.issuer), client);
    expect((await plain.login(browserOf('ann'))).access_token).toBeDefined();
  });

  it('gets the same subject for the same user, and different subjects for two users', async () => {
    const client = await OAuthClient.register(gateway.issuer);
    const subject = async (user: string) => decodeJwt((await client.login(browserOf(user))).access_token).sub;
    const [first, again, other] = [await subject('carl'), await subject('carl'), await subject('dora')];
    expect(again).toBe(first);
    expect(other).not.toBe(first);
  });

  it('row 28: gets the issuer in error responses too', async () => {
    const client = await OAuthClient.register(gateway.issuer);
    const browser = browserOf('ann');
    await client.login(browser);
    const flow = await client.begin({ scope: 'openid no-such-scope' });
    const callback = await browser.login(flow.url);
    expect(callback.searchParams.get('iss')).toBe(gateway.issuer);
    expect(callback.searchParams.get('state')).toBe(flow.state);
    expect(() => oauth.validateAuthResponse(client.server, client.client, callback, flow.state)).toThrow(
      oauth.AuthorizationResponseError,
    );
    expect(callback.searchParams.get('error')).toBe('invalid_scope');
  });

  it('gets login_required with prompt=none', async () => {
    const client = await OAuthClient.register(gateway.issuer);
    const browser = browserOf('ann');
    await client.login(browser);
    const flow = await client.begin({ scope: 'openid', prompt: 'none' });
    expect((await browser.login(flow.url)).searchParams.get('error')).toBe('login_required');
  });
});

describe('a confidential client', () => {
  it('introspects its own valid and revoked tokens', async () => {
    const client = await confidential();
    const tokens = await client.login(browserOf('erin'), { redirectUri: REDIRECT, scope: SCOPE });
    const { sub } = decodeJwt(tokens.access_token);
    expect(await client.introspect(tokens.access_token)).toMatchObject({ active: true, sub, aud: gateway.url });
    expect(await client.introspect(tokens.refresh_token ?? '')).toMatchObject({ active: true });
    await client.revoke(tokens.refresh_token ?? '');
    expect(await client.introspect(tokens.access_token)).toEqual({ active: false });
    expect(await client.introspect(tokens.refresh_token ?? '')).toEqual({ active: false });
  });

  it('rows 26 and 27: cannot introspect or revoke the tokens of another client', async () => {
    const [one, other] = [await confidential(), await OAuthClient.register(gateway.issuer)];
    const tokens = await other.login(browserOf('finn'));
    expect(await one.introspect(tokens.access_token)).toEqual({ active: false });
    await one.revoke(tokens.refresh_token ?? '');
    expect((await other.refresh(tokens.refresh_token ?? '')).access_token).toBeDefined();
    expect(await refusal(other.introspect(tokens.access_token))).toEqual({ error: 'invalid_client', status: 401 });
  });

  it('gets the error of an unknown client for a wrong secret', async () => {
    const { server, client } = await confidential();
    const refresh = (id: string) =>
      new OAuthClient(server, { ...client, client_id: id }, oauth.ClientSecretBasic('wrong')).refresh('vrt_junk');
    const wrong = await refusal(refresh(client.client_id));
    expect(wrong).toEqual({ error: 'invalid_client', status: 401 });
    expect(await refusal(refresh('vcl_nobody'))).toEqual(wrong);
  });
});
