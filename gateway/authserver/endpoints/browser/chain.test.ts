import { describe, expect, it } from 'vitest';
import type { Client, CodeGrant, UpstreamRow } from '../../storage/records.ts';
import { serve } from '../../../outbound/testdata/servers.ts';
import { upstreamLock } from '../../storage/store.ts';
import {
  browserServer,
  CLIENT,
  CLIENT_REDIRECT,
  type BrowserServer,
  type ServerOptions,
} from '../testdata/browser-server.ts';
import { scriptedOauth2, scriptedOidc, type LoginAt, type ScriptedLogin } from '../testdata/scripted-login.ts';

interface Chain {
  readonly server: BrowserServer;
  readonly by: ReadonlyMap<string, ScriptedLogin>;
  /** Logs `client` in and returns the legs that ran and the result. */
  run(logins?: Readonly<Record<string, LoginAt>>, changes?: Readonly<Record<string, string>>): Promise<Ended>;
}

interface Ended {
  readonly visited: readonly string[];
  readonly answer: URLSearchParams;
  readonly grant: CodeGrant | undefined;
  readonly rows: readonly UpstreamRow[];
}

/** `corp` identifies the user; `git` and `wiki` follow. */
async function chain(options: ServerOptions = {}): Promise<Chain> {
  const [corp, git, wiki] = [await scriptedOidc('corp'), await scriptedOauth2('git'), await scriptedOauth2('wiki')];
  const entries = { corp: corp.entry, git: git.entry, wiki: wiki.entry };
  const server = await browserServer(() => entries, options);
  const by = new Map([['corp', corp], ['git', git], ['wiki', wiki]] as const); // oxfmt-ignore
  const nameOf = (url: string) => [...by].find(([, { issuer }]) => url.startsWith(`${issuer}/`))?.[0];
  return {
    server,
    by,
    async run(logins = {}, changes) {
      const browser = server.browser();
      const visited: string[] = [];
      let url = await server.toProvider(browser, changes);
      for (let name = nameOf(url); name !== undefined; name = nameOf(url)) {
        visited.push(name);
        url = (await browser.visit(by.get(name)?.callbackFor(url, logins[name]) ?? '')).location ?? '';
      }
      const answer = new URL(url).searchParams;
      const taken = await server.store.codes.take(answer.get('code') ?? '', 1_000);
      const grant = taken.kind === 'taken' ? taken.grant : undefined;
      return { visited, answer, grant, rows: await server.store.upstreamTokens.all(grant?.tsid ?? '') };
    },
  };
}

const rowOf = ({ rows }: Ended, provider: string) => rows.find((row) => row.provider === provider);

/** Stores a family as the token endpoint does. */
async function redeem({ store, context }: BrowserServer, { grant }: Ended): Promise<void> {
  if (!grant) throw new Error('there is no code');
  const { familyId: id, clientId, scopes, resource, tsid, login } = grant;
  const now = context.now();
  const family = { id, clientId, scopes, resource, tsid, login, createdAt: now, expiresAt: now + 86_400_000 };
  await store.families.create(family, 'token', { idleMs: 86_400_000, liveMs: 86_400_000 });
  await store.upstreamTokens.extend(tsid, context.settings.providers, 86_400_000);
}

/** Client id metadata document, which many installations share. */
async function sharedClient(): Promise<string> {
  const { port } = await serve((req, res) => {
    const client_id = `http://${req.headers.host ?? ''}${req.url ?? ''}`;
    const body = { client_id, client_name: 'Shared', redirect_uris: [CLIENT_REDIRECT] };
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  return `http://127.0.0.1:${String(port)}/client.json`;
}

const FOREVER = { reply: { expires_in: undefined, refresh_token: undefined } };

describe('legs with tokens of an earlier login', () => {
  it('are skipped when the same client logs in again, and the new login gets the tokens', async () => {
    const { server, run } = await chain();
    const first = await run();
    await redeem(server, first);
    const second = await run();
    expect([first.visited, second.visited]).toEqual([['corp', 'git', 'wiki'], ['corp']]);
    expect(rowOf(second, 'git')).toMatchObject({
      accessToken: rowOf(first, 'git')?.accessToken,
      refreshToken: rowOf(first, 'git')?.refreshToken,
      userId: second.grant?.login.userId,
    });
    const before = await server.store.upstreamTokens.get(first.grant?.tsid ?? '', 'git');
    expect(before?.accessToken).toBe(rowOf(first, 'git')?.accessToken);
    expect(before?.refreshToken).toBeUndefined(); // a refresh token is in one row only
    server.advance(86_000_000);
    expect(await server.store.upstreamTokens.get(second.grant?.tsid ?? '', 'git')).toBeUndefined();
  });

  it('run with prompt=login, with reuse disabled, for another user and for another client', async () => {
    const all = ['corp', 'git', 'wiki'];
    const other: Client = { ...CLIENT, client_id: 'vcl_2' };
    const { server, run } = await chain({ clients: [CLIENT, other] });
    await redeem(server, await run());
    expect((await run({}, { prompt: 'login' })).visited).toEqual(all);
    expect((await run({ corp: { subject: 'bob' } })).visited).toEqual(all);
    expect((await run({}, { client_id: 'vcl_2' })).visited).toEqual(all);
    const off = await chain({ settings: { reuseUpstreamTokens: false } });
    await redeem(off.server, await off.run());
    expect((await off.run()).visited).toEqual(all);
  });

  it('run for a shared client while the earlier login is live, which keeps its tokens', async () => {
    const { server, run } = await chain({ documents: true });
    const client_id = await sharedClient();
    const first = await run({}, { client_id });
    await redeem(server, first);
    const second = await run({}, { client_id });
    expect(second.visited).toEqual(['corp', 'git', 'wiki']);
    const kept = await server.store.upstreamTokens.get(first.grant?.tsid ?? '', 'git');
    expect(kept?.refreshToken).toBe(rowOf(first, 'git')?.refreshToken);
    expect(rowOf(second, 'git')?.refreshToken).not.toBe(kept?.refreshToken);
  });

  it('are skipped for a shared client after the earlier login has ended or must log in again', async () => {
    const { server, run } = await chain({ documents: true });
    const client_id = await sharedClient();
    const first = await run({}, { client_id });
    await redeem(server, first);
    const wiki = await server.store.upstreamTokens.get(first.grant?.tsid ?? '', 'wiki');
    if (!wiki) throw new Error('there is no row');
    const { refreshToken: _gone, ...others } = wiki;
    await server.store.upstreamTokens.put({ ...others, accessToken: '', dead: true }, 86_400_000);
    const second = await run({}, { client_id });
    expect(second.visited).toEqual(['corp', 'wiki']);
    expect(rowOf(second, 'git')?.refreshToken).toBe(rowOf(first, 'git')?.refreshToken);
    await redeem(server, second);
    await server.store.families.revoke({ id: second.grant?.familyId ?? '', tsid: second.grant?.tsid ?? '' }, 1_000);
    server.advance(3_600_000);
    expect((await run({}, { client_id })).visited).toEqual(['corp']);
  });

  it('are skipped when the tokens need no refresh, and both logins have a copy', async () => {
    const { server, run } = await chain({ documents: true });
    const client_id = await sharedClient();
    const first = await run({ git: FOREVER, wiki: FOREVER }, { client_id });
    await redeem(server, first);
    const second = await run({}, { client_id });
    expect(second.visited).toEqual(['corp']);
    expect(rowOf(second, 'git')?.accessToken).toBe(rowOf(first, 'git')?.accessToken);
    expect(await server.store.upstreamTokens.get(first.grant?.tsid ?? '', 'git')).toEqual(rowOf(first, 'git'));
  });

  it('run when the token expires soon without a refresh token, or belongs to another upstream client', async () => {
    const { server, run } = await chain();
    const first = await run({ git: { reply: { refresh_token: undefined, expires_in: 90 } } });
    await redeem(server, first);
    const wiki = await server.store.upstreamTokens.get(first.grant?.tsid ?? '', 'wiki');
    if (!wiki) throw new Error('there is no row');
    await server.store.upstreamTokens.put({ ...wiki, upstreamClientId: 'the one before' }, 86_400_000);
    server.advance(31_000);
    expect((await run()).visited).toEqual(['corp', 'git', 'wiki']);
  });

  it('run while the tokens are being refreshed', async () => {
    const { server, run } = await chain();
    const first = await run();
    await redeem(server, first);
    const lock = await server.store.locks.acquire(upstreamLock(first.grant?.tsid ?? '', 'git'), 60_000);
    expect(lock).toBeDefined();
    const second = await run();
    expect(second.visited).toEqual(['corp', 'git']);
    expect((await server.store.upstreamTokens.get(first.grant?.tsid ?? '', 'git'))?.refreshToken).toBeDefined();
  });

  it('leave the tokens with the earlier login when another leg fails', async () => {
    const { server, run } = await chain();
    const first = await run();
    await redeem(server, first);
    await server.store.upstreamTokens.delete(first.grant?.tsid ?? '', 'git');
    const failed = await run({ git: { claims: { sub: '' } } });
    expect([failed.visited, failed.answer.get('error')]).toEqual([['corp', 'git'], 'server_error']);
    expect((await server.store.upstreamTokens.get(first.grant?.tsid ?? '', 'wiki'))?.refreshToken).toBeDefined();
    expect((await run()).visited).toEqual(['corp', 'git']);
  });
});

describe('a login without a refresh token', () => {
  const without = { reply: { refresh_token: undefined } };

  it('gets the refresh token of the earlier login of the same client and account', async () => {
    const { server, run } = await chain();
    const first = await run();
    await redeem(server, first);
    const second = await run({ corp: without });
    expect(rowOf(second, 'corp')?.refreshToken).toBe(rowOf(first, 'corp')?.refreshToken);
    expect(rowOf(second, 'corp')?.accessToken).not.toBe(rowOf(first, 'corp')?.accessToken);
    expect((await server.store.upstreamTokens.get(first.grant?.tsid ?? '', 'corp'))?.refreshToken).toBeUndefined();
  });

  it('shares the refresh token of a live login of another client', async () => {
    const { server, run } = await chain({ clients: [CLIENT, { ...CLIENT, client_id: 'vcl_2' }] });
    const first = await run();
    await redeem(server, first);
    const second = await run({ corp: without }, { client_id: 'vcl_2' });
    expect(rowOf(second, 'corp')?.refreshToken).toBe(rowOf(first, 'corp')?.refreshToken);
    expect((await server.store.upstreamTokens.get(first.grant?.tsid ?? '', 'corp'))?.refreshToken).toBeDefined();
  });

  it('gets no refresh token of another account or another upstream client', async () => {
    const { server, run } = await chain({ settings: { reuseUpstreamTokens: false } });
    const first = await run();
    await redeem(server, first);
    expect(rowOf(await run({ git: { ...without, subject: 'bob' } }), 'git')?.refreshToken).toBeUndefined();
    const corp = await server.store.upstreamTokens.get(first.grant?.tsid ?? '', 'corp');
    if (!corp) throw new Error('there is no row');
    await server.store.upstreamTokens.put({ ...corp, upstreamClientId: 'the one before' }, 86_400_000);
    expect(rowOf(await run({ corp: without }), 'corp')?.refreshToken).toBeUndefined();
  });
});

describe('providers that the upstream filter excludes', () => {
  const upstreamFilter = {
    claim: 'groups',
    rules: [{ groups: ['dev'], providers: ['git'] }],
    defaultProviders: [],
  };

  it('are skipped, and marked so that they trigger no new login', async () => {
    const { run } = await chain({ settings: { upstreamFilter } });
    const dev = await run({ corp: { claims: { groups: ['dev'] } } });
    expect(dev.visited).toEqual(['corp', 'git']);
    expect(rowOf(dev, 'wiki')).toEqual({
      tsid: dev.grant?.tsid,
      provider: 'wiki',
      userId: dev.grant?.login.userId,
      clientId: CLIENT.client_id,
      upstreamClientId: 'vmcp-client',
      upstreamSubject: '',
      accessToken: '',
      excluded: true,
      storedAt: dev.grant?.login.authTime,
    });
    expect((await run({ corp: { claims: { groups: [] }, subject: 'eve' } })).visited).toEqual(['corp']);
  });

  it.each([
    ['missing', {}],
    ['a string', { groups: 'dev' }],
  ])('fail the login and log an error when the claim is %s', async (_what, claims) => {
    const { server, run } = await chain({ settings: { upstreamFilter } });
    const { visited, answer, grant } = await run({ corp: { claims } });
    expect([visited, answer.get('error'), grant]).toEqual([['corp'], 'server_error', undefined]);
    expect(server.logged.join('\n')).toContain('the claim \\"groups\\" of the upstream filter is not a list of texts');
  });
});
