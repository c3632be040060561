import { describe, expect, it } from 'vitest';
import type { Client } from '../storage/client.ts';
import { serve } from '../../outbound/testdata/servers.ts';
import type { CodeGrant, UpstreamRow } from '../storage/records.ts';
import { upstreamLock } from '../storage/store.ts';
import {
  browserServer,
  CLIENT,
  CLIENT_REDIRECT,
  type BrowserServer,
  type ServerOptions,
} from './testdata/browser-server.ts';
import { scriptedOauth2, scriptedOidc, type LoginAt, type ScriptedLogin } from './testdata/scripted-login.ts';

interface Chain {
  readonly server: BrowserServer;
  readonly by: ReadonlyMap<string, ScriptedLogin>;
  /** A login of `client` through all legs that run: which ones those were, and what it ended with. */
  run(logins?: Readonly<Record<string, LoginAt>>, changes?: Readonly<Record<string, string>>): Promise<Ended>;
}

interface Ended {
  readonly visited: readonly string[];
  readonly answer: URLSearchParams;
  readonly grant: CodeGrant | undefined;
  readonly rows: readonly UpstreamRow[];
}

/** `corp` says who it is; `git` and `wiki` come behind it. */
async function chain(options: ServerOptions = {}): Promise<Chain> {
  const [corp, git, wiki] = [await scriptedOidc('corp'), await scriptedOauth2('git'), await scriptedOauth2('wiki')];
  const entries = { corp: corp.entry, git: git.entry, wiki: wiki.entry };
  const server = await browserServer(() => entries, options);
  const by = new Map([['corp', corp], ['git', git], ['wiki', wiki]] as const); // prettier-ignore
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

/** As the token endpoint makes it. */
async function redeem({ store, context }: BrowserServer, { grant }: Ended): Promise<void> {
  if (!grant) throw new Error('there is no code');
  const { familyId: id, clientId, scopes, resource, tsid, login } = grant;
  const now = context.now();
  const family = { id, clientId, scopes, resource, tsid, login, createdAt: now, expiresAt: now + 86_400_000 };
  await store.families.create(family, 'token', { idleMs: 86_400_000, liveMs: 86_400_000 });
  await store.upstreamTokens.extend(tsid, context.settings.providers, 86_400_000);
}

/** Client id of a document, which many installations share. */
async function sharedClient(): Promise<string> {
  const { port } = await serve((req, res) => {
    const client_id = `http://${req.headers.host ?? ''}${req.url ?? ''}`;
    const body = { client_id, client_name: 'Shared', redirect_uris: [CLIENT_REDIRECT] };
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  return `http://127.0.0.1:${String(port)}/client.json`;
}

const FOREVER = { reply: { expires_in: undefined, refresh_token: undefined } };

describe('legs whose tokens an earlier login has left behind', () => {
  it('are left out when the same client logs in again: the tokens move', async () => {
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

  it('run with prompt=login, with reuse switched off, for another user, and for another client', async () => {
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

  it('of a client that many installations share run while the other login lives: it is not robbed', async () => {
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

  it('of such a client are left out once the other login is over, or must log in again', async () => {
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

  it('are copied when the tokens need no refresh: both logins have them', async () => {
    const { server, run } = await chain({ documents: true });
    const client_id = await sharedClient();
    const first = await run({ git: FOREVER, wiki: FOREVER }, { client_id });
    await redeem(server, first);
    const second = await run({}, { client_id });
    expect(second.visited).toEqual(['corp']);
    expect(rowOf(second, 'git')?.accessToken).toBe(rowOf(first, 'git')?.accessToken);
    expect(await server.store.upstreamTokens.get(first.grant?.tsid ?? '', 'git')).toEqual(rowOf(first, 'git'));
  });

  it('run when the token is about to run out and cannot be refreshed, or got there by another client of ours', async () => {
    const { server, run } = await chain();
    const first = await run({ git: { reply: { refresh_token: undefined, expires_in: 90 } } });
    await redeem(server, first);
    const wiki = await server.store.upstreamTokens.get(first.grant?.tsid ?? '', 'wiki');
    if (!wiki) throw new Error('there is no row');
    await server.store.upstreamTokens.put({ ...wiki, upstreamClientId: 'the one before' }, 86_400_000);
    server.advance(31_000);
    expect((await run()).visited).toEqual(['corp', 'git', 'wiki']);
  });

  it('run while the row is being refreshed', async () => {
    const { server, run } = await chain();
    const first = await run();
    await redeem(server, first);
    const lock = await server.store.locks.acquire(upstreamLock(first.grant?.tsid ?? '', 'git'), 60_000);
    expect(lock).toBeDefined();
    const second = await run();
    expect(second.visited).toEqual(['corp', 'git']);
    expect((await server.store.upstreamTokens.get(first.grant?.tsid ?? '', 'git'))?.refreshToken).toBeDefined();
  });

  it('cost the earlier login nothing when a leg that must run fails', async () => {
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

  it('takes over that of the login before by the same client and account', async () => {
    const { server, run } = await chain();
    const first = await run();
    await redeem(server, first);
    const second = await run({ corp: without });
    expect(rowOf(second, 'corp')?.refreshToken).toBe(rowOf(first, 'corp')?.refreshToken);
    expect(rowOf(second, 'corp')?.accessToken).not.toBe(rowOf(first, 'corp')?.accessToken);
    expect((await server.store.upstreamTokens.get(first.grant?.tsid ?? '', 'corp'))?.refreshToken).toBeUndefined();
  });

  it('shares it with a login of another client, which goes on', async () => {
    const { server, run } = await chain({ clients: [CLIENT, { ...CLIENT, client_id: 'vcl_2' }] });
    const first = await run();
    await redeem(server, first);
    const second = await run({ corp: without }, { client_id: 'vcl_2' });
    expect(rowOf(second, 'corp')?.refreshToken).toBe(rowOf(first, 'corp')?.refreshToken);
    expect((await server.store.upstreamTokens.get(first.grant?.tsid ?? '', 'corp'))?.refreshToken).toBeDefined();
  });

  it('gets none of another account, nor of another client at the provider', async () => {
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

describe('providers that a claim of the first one leaves out', () => {
  const upstreamFilter = {
    claim: 'groups',
    rules: [{ groups: ['dev'], providers: ['git'] }],
    defaultProviders: [],
  };

  it('are not visited, and are marked so that no login is asked for because of them', async () => {
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
    ['one text', { groups: 'dev' }],
  ])('the login fails when the claim is %s, and the operator is told', async (_what, claims) => {
    const { server, run } = await chain({ settings: { upstreamFilter } });
    const { visited, answer, grant } = await run({ corp: { claims } });
    expect([visited, answer.get('error'), grant]).toEqual([['corp'], 'server_error', undefined]);
    expect(server.logged.join('\n')).toContain('the claim \\"groups\\" of the upstream filter is not a list of texts');
  });
});
