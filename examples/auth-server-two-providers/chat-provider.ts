/**
 * Provider like that of a chat service: OAuth 2.0 without discovery and ID tokens, with a nested token reply. `npx node examples/auth-server-two-providers/chat-provider.ts`. For development on one machine only.
 */
import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { failToListen, listen } from '../backends/listen.ts';

const CLIENT = { id: 'vmcp', secret: 'chat-development-secret' };
/** Accepts any port: this is for development. */
const REDIRECT = /^http:\/\/127\.0\.0\.1:\d+\/oauth\/callback\/\w+$/u;
const HOUR = 3_600;

const { values } = parseArgs({ options: { port: { type: 'string', default: '4401' } } });

interface Login {
  readonly user: string;
  readonly scope: string;
  readonly challenge: string;
}

/** Logins by code and by token. */
const codes = new Map<string, Login>();
const refreshTokens = new Map<string, Login>();
const accessTokens = new Map<string, Login>();

const random = (prefix: string): string => `${prefix}-${randomBytes(24).toString('base64url')}`;
const log = (line: string): boolean => process.stdout.write(`${line}\n`);

function json(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(JSON.stringify(body));
}

const escaped = (value: string): string =>
  value.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');

/** Shows a form for the name. The form also sends the parameters of the request. */
function loginPage(res: ServerResponse, query: URLSearchParams): void {
  const fields = [...query].map(
    ([name, value]) => `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`,
  );
  const page = `<!doctype html><title>Chat</title><h1>Chat: who are you?</h1>
<form method="post" action="/authorize">${fields.join('')}
<input name="login" placeholder="any name" required autofocus> <button type="submit">Sign in</button></form>`;
  res.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }).end(page);
}

function finishLogin(res: ServerResponse, form: URLSearchParams): void {
  const redirect = form.get('redirect_uri') ?? '';
  const user = form.get('login') ?? '';
  if (form.get('client_id') !== CLIENT.id || !REDIRECT.test(redirect) || user === '') {
    res.writeHead(400, { 'content-type': 'text/plain' }).end('unknown client, redirect URI or user');
    return;
  }
  const code = random('code');
  codes.set(code, { user, scope: form.get('scope') ?? '', challenge: form.get('code_challenge') ?? '' });
  const back = new URL(redirect);
  back.searchParams.set('code', code);
  back.searchParams.set('state', form.get('state') ?? '');
  log(`logged in: ${user}`);
  res.writeHead(303, { location: back.href }).end();
}

/** Verifies the client's secret, which is in `Authorization` or in the form. */
function isClient({ headers }: IncomingMessage, form: URLSearchParams): boolean {
  const basic = /^Basic (\S+)$/u.exec(headers.authorization ?? '')?.[1];
  if (basic !== undefined) return Buffer.from(basic, 'base64').toString() === `${CLIENT.id}:${CLIENT.secret}`;
  return form.get('client_id') === CLIENT.id && form.get('client_secret') === CLIENT.secret;
}

/** Redeems a code or a refresh token. Each works once. */
function redeem(form: URLSearchParams): Login | undefined {
  const [tokens, value] =
    form.get('grant_type') === 'refresh_token'
      ? [refreshTokens, form.get('refresh_token') ?? '']
      : [codes, form.get('code') ?? ''];
  const login = tokens.get(value);
  tokens.delete(value);
  if (tokens === refreshTokens) return login;
  const challenge = createHash('sha256')
    .update(form.get('code_verifier') ?? '')
    .digest('base64url');
  return login?.challenge === challenge ? login : undefined;
}

/** Answers a token request. Errors have status 200, as at some chat services. */
function answerToken(req: IncomingMessage, res: ServerResponse, form: URLSearchParams): void {
  const login = isClient(req, form) ? redeem(form) : undefined;
  if (login === undefined) {
    json(res, 200, { ok: false, error: 'invalid_code' });
    return;
  }
  const tokens = { access_token: random('chat'), refresh_token: random('chat-refresh') };
  accessTokens.set(tokens.access_token, login);
  refreshTokens.set(tokens.refresh_token, login);
  log(`issued a token: ${login.user}`);
  json(res, 200, { ok: true, authed_user: { ...tokens, expires_in: HOUR, scope: login.scope } });
}

function answerMe({ headers }: IncomingMessage, res: ServerResponse): void {
  const login = accessTokens.get(/^Bearer (\S+)$/u.exec(headers.authorization ?? '')?.[1] ?? '');
  if (login === undefined) {
    json(res, 401, { ok: false, error: 'invalid_auth' });
    return;
  }
  const { user } = login;
  const id = createHash('sha256').update(user).digest().readUInt32BE();
  json(res, 200, { ok: true, user: { id, real_name: user, profile: { email: `${user}@chat.example` } } });
}

async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const url = new URL(req.url ?? '/', 'http://127.0.0.1');
  const route = `${req.method ?? ''} ${url.pathname}`;
  if (route === 'GET /authorize') loginPage(res, url.searchParams);
  else if (route === 'POST /authorize') finishLogin(res, new URLSearchParams(await text(req)));
  else if (route === 'POST /token') answerToken(req, res, new URLSearchParams(await text(req)));
  else if (route === 'GET /me') answerMe(req, res);
  else json(res, 404, { ok: false, error: 'unknown_path' });
}

const listener = createServer((req, res) => {
  handle(req, res).catch(() => res.destroy());
});
listen(listener, values.port).then(() => {
  log(`Chat provider for development: http://127.0.0.1:${values.port}. Any name works. Stop with Ctrl-C.`);
}, failToListen);
