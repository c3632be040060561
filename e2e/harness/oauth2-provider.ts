import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Scope } from './scope.ts';

type Count = 'authorize' | 'login' | 'code' | 'refresh' | 'userinfo';

/**
 * An OAuth 2.0 provider like Slack and GitHub: no discovery, tokens nested in the reply, errors with status 200, users
 * with numeric ids. A browser stays logged in.
 */
export interface OAuth2Provider {
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly userInfoEndpoint: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Lifetime of new access tokens. */
  accessSeconds: number;
  /** False makes refresh tokens reusable. */
  rotates: boolean;
  /** True makes the token endpoint answer 503. */
  down: boolean;
  /** Claims of access tokens, which are then JWTs; opaque when undefined. */
  accessClaims: ((user: string) => object) | undefined;
  /** Number of requests by kind. */
  readonly counts: Readonly<Record<Count, number>>;
  /** Every code, token and cookie that it has issued, every verifier that it received, and the client secret. */
  readonly issued: Set<string>;
  /** Returns the user of a valid access token. */
  userOf(accessToken: string): string | undefined;
  /** Revokes the access tokens, refresh tokens and browser logins of a user. */
  revoke(user: string): void;
}

interface Grant {
  readonly user: string;
  readonly expiresAt: number;
}

interface Code extends Grant {
  readonly redirectUri: string;
  readonly challenge: string | undefined;
}

const CLIENT_ID = 'vmcp-at-chat';
const FIRST_ID = 4_711_000_001;
const CODE_MS = 60_000;
const NEVER = Number.POSITIVE_INFINITY;

/** Starts the provider on a free port until the scope ends. */
export async function startOAuth2Provider(
  scope: Scope,
  accessSeconds = 3_600,
  host = '127.0.0.1',
): Promise<OAuth2Provider> {
  const core = new ProviderCore(accessSeconds);
  const server = createServer((req, res) => {
    core.serve(req, res).catch(() => res.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  scope.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://${host}:${String((server.address() as AddressInfo).port)}`;
  return Object.assign(core, {
    authorizationEndpoint: `${origin}/login/oauth/authorize`,
    tokenEndpoint: `${origin}/api/oauth.v2.access`,
    userInfoEndpoint: `${origin}/api/user`,
  });
}

class ProviderCore {
  readonly clientId = CLIENT_ID;
  readonly clientSecret = randomBytes(24).toString('base64url');
  readonly issued = new Set<string>([this.clientSecret]);
  readonly counts: Record<Count, number> = { authorize: 0, login: 0, code: 0, refresh: 0, userinfo: 0 };
  accessSeconds: number;
  rotates = true;
  down = false;
  accessClaims: OAuth2Provider['accessClaims'];
  readonly #users = new Map<string, number>();
  readonly #logins = new Map<string, Grant>();
  readonly #codes = new Map<string, Code>();
  readonly #access = new Map<string, Grant>();
  readonly #refresh = new Map<string, Grant>();

  constructor(accessSeconds: number) {
    this.accessSeconds = accessSeconds;
  }

  userOf(accessToken: string): string | undefined {
    const grant = this.#access.get(accessToken);
    return grant !== undefined && grant.expiresAt > Date.now() ? grant.user : undefined;
  }

  revoke(user: string): void {
    for (const grants of [this.#access, this.#refresh, this.#logins, this.#codes])
      for (const [key, grant] of grants) if (grant.user === user) grants.delete(key);
  }

  async serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? '/', 'http://provider');
    const form = new URLSearchParams(await text(req));
    switch (`${req.method ?? ''} ${url.pathname}`) {
      case 'GET /login/oauth/authorize':
        this.#authorize(req, res, url.searchParams);
        return;
      case 'POST /login/oauth/authorize':
        this.#login(res, url.searchParams, form);
        return;
      case 'POST /api/oauth.v2.access':
        if (this.down) res.writeHead(503).end('we will be back');
        else json(res, this.#token(req, form));
        return;
      case 'GET /api/user':
        this.#userInfo(req, res);
        return;
      default:
        res.writeHead(404).end('no such page');
    }
  }

  #authorize(req: IncomingMessage, res: ServerResponse, query: URLSearchParams): void {
    this.counts.authorize += 1;
    const problem = query.get('client_id') === CLIENT_ID ? undefined : 'unknown client';
    if (problem !== undefined || query.get('response_type') !== 'code') {
      res.writeHead(400, { 'content-type': 'text/html' }).end(page(`<h1>${problem ?? 'bad request'}</h1>`));
      return;
    }
    const login = this.#logins.get(/(?:^|; )chat-login=([^;]+)/u.exec(req.headers.cookie ?? '')?.[1] ?? '');
    if (login) this.#redirect(res, query, login.user);
    else res.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page(LOGIN_FORM));
  }

  #login(res: ServerResponse, query: URLSearchParams, form: URLSearchParams): void {
    this.counts.login += 1;
    const user = form.get('login') ?? '';
    if (form.get('decision') === 'cancel') {
      this.#redirect(res, query, undefined);
      return;
    }
    const login = this.#new(this.#logins, { user, expiresAt: NEVER });
    res.setHeader('set-cookie', `chat-login=${login}; Path=/; HttpOnly; SameSite=Lax`);
    this.#redirect(res, query, user);
  }

  #redirect(res: ServerResponse, query: URLSearchParams, user: string | undefined): void {
    const redirectUri = query.get('redirect_uri') ?? '';
    const target = new URL(redirectUri);
    const challenge = query.get('code_challenge') ?? undefined;
    if (user === undefined) target.searchParams.set('error', 'access_denied');
    else {
      const code = { user, redirectUri, challenge, expiresAt: Date.now() + CODE_MS };
      target.searchParams.set('code', this.#new(this.#codes, code));
    }
    target.searchParams.set('state', query.get('state') ?? '');
    res.writeHead(302, { location: target.href }).end();
  }

  #token(req: IncomingMessage, form: URLSearchParams): unknown {
    if (!isClient(req, form, this.clientSecret)) return { ok: false, error: 'bad_client_secret' };
    const refreshing = form.get('grant_type') === 'refresh_token';
    this.counts[refreshing ? 'refresh' : 'code'] += 1;
    const user = refreshing ? this.#redeemRefresh(form) : this.#redeemCode(form);
    if (user === undefined) return { ok: false, error: refreshing ? 'invalid_refresh_token' : 'invalid_code' };
    const life = { user, expiresAt: Date.now() + this.accessSeconds * 1_000 };
    const presented = form.get('refresh_token') ?? '';
    return {
      ok: true,
      team: { id: 'T0001', name: 'fixtures' },
      authed_user: {
        id: this.#idOf(user),
        access_token: this.#newAccessToken(life),
        refresh_token: refreshing && !this.rotates ? presented : this.#new(this.#refresh, { user, expiresAt: NEVER }),
        expires_in: this.accessSeconds,
        scope: 'chat:read,chat:write',
        token_type: 'user',
      },
    };
  }

  /** Returns an opaque token, or a JWT where its claims are set. */
  #newAccessToken(grant: Grant): string {
    const opaque = this.#new(this.#access, grant);
    if (!this.accessClaims) return opaque;
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const token = `${part({ alg: 'ES256', typ: 'at+jwt' })}.${part(this.accessClaims(grant.user))}.${part({ opaque })}`;
    this.#access.set(token, grant);
    return token;
  }

  #redeemCode(form: URLSearchParams): string | undefined {
    const key = form.get('code') ?? '';
    const code = this.#codes.get(key);
    this.#codes.delete(key);
    if (!code || code.expiresAt < Date.now() || code.redirectUri !== form.get('redirect_uri')) return undefined;
    const verifier = form.get('code_verifier') ?? '';
    if (verifier !== '') this.issued.add(verifier);
    const proof = createHash('sha256').update(verifier).digest('base64url');
    return code.challenge === undefined || code.challenge === proof ? code.user : undefined;
  }

  #redeemRefresh(form: URLSearchParams): string | undefined {
    const key = form.get('refresh_token') ?? '';
    const user = this.#refresh.get(key)?.user;
    if (this.rotates) this.#refresh.delete(key);
    return user;
  }

  #userInfo(req: IncomingMessage, res: ServerResponse): void {
    this.counts.userinfo += 1;
    const user = this.userOf((req.headers.authorization ?? '').replace(/^Bearer /u, ''));
    if (user === undefined)
      res.writeHead(401, { 'content-type': 'application/json' }).end('{"message":"Bad credentials"}');
    else json(res, { id: this.#idOf(user), login: user, name: `${user} at chat`, email: null });
  }

  #idOf(user: string): number {
    const id = this.#users.get(user) ?? FIRST_ID + this.#users.size;
    this.#users.set(user, id);
    return id;
  }

  #new<T extends Grant>(grants: Map<string, T>, grant: T): string {
    const key = randomBytes(24).toString('base64url');
    this.issued.add(key);
    grants.set(key, grant);
    return key;
  }
}

const json = (res: ServerResponse, body: unknown) =>
  res.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));

function isClient({ headers }: IncomingMessage, form: URLSearchParams, secret: string): boolean {
  const basic = /^Basic (\S+)$/u.exec(headers.authorization ?? '')?.[1];
  const [id, given] =
    basic === undefined
      ? [form.get('client_id'), form.get('client_secret')]
      : Buffer.from(basic, 'base64').toString().split(':').map(decodeURIComponent);
  return id === CLIENT_ID && given === secret;
}

const page = (main: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Chat</title></head><body>${main}</body></html>`;

/** Form that posts to its own URL, which keeps the query of the authorization request. */
const LOGIN_FORM = `<h1>Sign in to Chat</h1>
<form method="post">
<label>Name <input name="login" required></label>
<label>Password <input name="password" type="password" required></label>
<button type="submit" name="decision" value="allow">Sign in</button>
<button type="submit" name="decision" value="cancel" formnovalidate>Cancel</button>
</form>`;
