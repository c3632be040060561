import type { UpstreamEntry } from '../../upstream/index.ts';
import {
  json,
  openidProvider,
  scriptedProvider,
  type Claims,
  type ScriptedProvider,
} from '../../upstream/testdata/scripted-provider.ts';
import { oauth2Entry, oidcEntry } from '../../upstream/testdata/upstream-under-test.ts';

export interface LoginAt {
  readonly subject?: string;
  /** More claims of the ID token, or members of userinfo. undefined leaves one out. */
  readonly claims?: Claims;
  /** More members of the token response. undefined leaves one out. */
  readonly reply?: Claims;
}

/** Provider without a login page: the code determines the user. */
export interface ScriptedLogin {
  readonly issuer: string;
  readonly entry: UpstreamEntry;
  /** Codes that have been exchanged. */
  readonly exchanged: string[];
  readonly provider: ScriptedProvider;
  /** Logs a user in and returns the callback URL for an authorization URL. */
  callbackFor(authorizationUrl: string, login?: LoginAt): string;
}

interface Issued extends LoginAt {
  readonly nonce: string | null;
}

let made = 0;

/** Returns different tokens for each code: `<name>-access-<n>`, `<name>-refresh-<n>`. */
export async function scriptedOidc(name: string, metadata: Claims = {}): Promise<ScriptedLogin> {
  const provider = await openidProvider(metadata);
  const codes = codesOf(provider, name, ({ subject = 'ann', claims, nonce }) => ({
    id_token: provider.idToken({ sub: subject, nonce, ...claims }),
  }));
  return { issuer: provider.issuer, entry: oidcEntry(provider), provider, ...codes };
}

/** With `synthetic`, the response contains no subject. */
export async function scriptedOauth2(name: string, { synthetic = false } = {}): Promise<ScriptedLogin> {
  const provider = await scriptedProvider();
  const users = new Map<string, object>();
  const codes = codesOf(provider, name, ({ subject = 'ann', claims }, token) => {
    users.set(`Bearer ${token}`, { sub: subject, ...claims });
    return {};
  });
  provider.answers['userinfo'] = (res, request) =>
    json(users.get(request.headers.authorization ?? '') ?? {})(res, request);
  const entry = oauth2Entry(provider, synthetic ? {} : { userinfo: { endpoint_url: provider.url('userinfo') } });
  return { issuer: provider.issuer, entry, provider, ...codes };
}

function codesOf(
  { answers }: ScriptedProvider,
  name: string,
  more: (issued: Issued, accessToken: string) => object,
): Pick<ScriptedLogin, 'exchanged' | 'callbackFor'> {
  const issued = new Map<string, Issued>();
  const exchanged: string[] = [];
  answers['token'] = (res, request) => {
    const code = request.form.get('code') ?? '';
    const found = issued.get(code);
    if (!found) return json({ error: 'invalid_grant' }, 400)(res, request);
    issued.delete(code);
    exchanged.push(code);
    const [accessToken, refreshToken] = ['access', 'refresh'].map((kind) => code.replace('code', kind));
    return json({
      access_token: accessToken,
      refresh_token: refreshToken,
      token_type: 'Bearer',
      expires_in: 3_600,
      ...more(found, accessToken ?? ''),
      ...found.reply,
    })(res, request);
  };
  return {
    exchanged,
    callbackFor(authorizationUrl, login = {}) {
      const asked = new URL(authorizationUrl).searchParams;
      made += 1;
      const code = `${name}-code-${String(made)}`;
      issued.set(code, { nonce: asked.get('nonce'), ...login });
      const callback = new URL(asked.get('redirect_uri') ?? '');
      callback.searchParams.set('code', code);
      callback.searchParams.set('state', asked.get('state') ?? '');
      return callback.href;
    },
  };
}
