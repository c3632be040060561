import { createHash, randomBytes } from 'node:crypto';
import { CLIENT_URL, ScriptedBrowser } from '../harness/browser/scripted-browser.ts';

export interface LoggedIn {
  readonly accessToken: string;
  readonly browser: ScriptedBrowser;
}

const json = async <Body>(response: Response): Promise<Body> => {
  if (!response.ok) throw new Error(`${response.url} answered ${String(response.status)}: ${await response.text()}`);
  return (await response.json()) as Body;
};

/** Registers a client at the gateway of `mcpUrl`, and logs in as `user` on every login page. */
export async function logIn(mcpUrl: string, user: string): Promise<LoggedIn> {
  const { origin } = new URL(mcpUrl);
  const registration = { client_name: 'examples', redirect_uris: [CLIENT_URL] };
  const headers = { 'content-type': 'application/json' };
  const { client_id } = await json<{ client_id: string }>(
    await fetch(`${origin}/oauth/register`, { method: 'POST', headers, body: JSON.stringify(registration) }),
  );
  const verifier = randomBytes(32).toString('base64url');
  const shared = { client_id, redirect_uri: CLIENT_URL, resource: mcpUrl };
  const request = new URLSearchParams({
    ...shared,
    response_type: 'code',
    state: 'of-the-example',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const browser = new ScriptedBrowser({ user });
  const callback = await browser.login(`${origin}/oauth/authorize?${request.toString()}`);
  const code = callback.searchParams.get('code');
  if (code === null) throw new Error(`the login ended with ${callback.search}`);
  const grant = { ...shared, grant_type: 'authorization_code', code, code_verifier: verifier };
  const { access_token } = await json<{ access_token: string }>(
    await fetch(`${origin}/oauth/token`, { method: 'POST', body: new URLSearchParams(grant) }),
  );
  return { accessToken: access_token, browser };
}
