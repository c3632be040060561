import { beforeEach, describe, expect, it } from 'vitest';
import {
  clientServer,
  ISSUER,
  SIGNED_OUT,
  type ClientServer,
  type Form,
  type Reply,
} from '../testdata/client-server.ts';

let server: ClientServer;
let login: Reply['json'];
beforeEach(async () => {
  server = await clientServer();
  login = await server.login({ familyId: 'family-1' });
});

const get = (query: Readonly<Record<string, string>>): Promise<Reply> =>
  server.request(`/oauth/logout?${new URLSearchParams(query).toString()}`);
const isOver = async (): Promise<boolean> => (await server.context.store.families.get('family-1')) === undefined;
const hint = (): { id_token_hint: string } => ({ id_token_hint: String(login['id_token']) });

describe('a logout with an ID token', () => {
  it.each(['GET', 'POST'])('by %s ends its login and redirects to the client', async (method) => {
    const asked = { ...hint(), post_logout_redirect_uri: SIGNED_OUT, state: 's&1', client_id: 'vcl_public' };
    const reply = await (method === 'GET' ? get(asked) : server.post('/oauth/logout', asked));
    expect([reply.status, reply.headers.get('location')]).toEqual([303, `${SIGNED_OUT}&state=s%261`]);
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect(await isOver()).toBe(true);
    expect((await server.refresh(login['refresh_token'])).status).toBe(400);
  });

  it('accepts an expired token, and shows a page without a redirect URI', async () => {
    server.advance(2 * 24 * 3_600_000);
    const reply = await get(hint());
    expect([reply.status, reply.text]).toEqual([200, expect.stringContaining('You are signed out')]);
    expect(await isOver()).toBe(true);
    expect((await get(hint())).status).toBe(200);
  });

  it.each([
    ['another path', 'https://client.example/bye2'],
    ['more query', `${SIGNED_OUT}&x=1`],
    ['an unregistered URL', 'https://evil.example/'],
    ['a redirect URI of the login', 'https://client.example/cb'],
    ['a script', 'javascript:alert(1)'],
  ])('row 63: does not redirect to %s', async (_what, uri) => {
    const reply = await get({ ...hint(), post_logout_redirect_uri: uri });
    expect([reply.status, reply.headers.get('location')]).toEqual([400, null]);
    expect(reply.text).not.toContain(uri);
    expect(await isOver()).toBe(false);
  });

  it('is rejected when client_id names another client', async () => {
    expect((await get({ ...hint(), client_id: 'vcl_other' })).status).toBe(400);
    expect(await isOver()).toBe(false);
  });

  it('is rejected with a repeated parameter', async () => {
    const reply = await server.request(`/oauth/logout?id_token_hint=a&id_token_hint=b`);
    expect([reply.status, reply.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8']);
  });
});

describe('a logout without a valid ID token', () => {
  const forgotten = 'vmcp-consent-';
  const csrfOf = ({ text }: Reply): string => /name="csrf" value="([\w-]+)"/.exec(text)?.[1] ?? '';
  const cookieOf = ({ headers }: Reply): string => headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const answer = (form: Form, cookie: string): Promise<Reply> => server.post('/oauth/logout', form, { cookie });

  it.each(['none', 'junk', 'an access token'])('(%s) shows a confirmation and never redirects', async (kind) => {
    const tokens = { none: '', junk: 'a.b.c', 'an access token': String(login['access_token']) };
    const reply = await get({
      ...{ id_token_hint: tokens[kind as keyof typeof tokens], post_logout_redirect_uri: SIGNED_OUT },
    });
    expect([reply.status, reply.headers.get('location')]).toEqual([200, null]);
    expect(reply.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(reply.headers.getSetCookie()[0]).toMatch(
      /^__Host-vmcp-logout=vck_[\w.-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
    );
    expect(reply.text).not.toContain(SIGNED_OUT);
    expect(await isOver()).toBe(false);
  });

  it('removes the remembered approvals after confirmation', async () => {
    const page = await get({});
    expect(page.text).toContain(`action="${new URL(ISSUER).pathname}/oauth/logout"`);
    const cookie = `${cookieOf(page)}; __Host-${forgotten}a=1; __Host-${forgotten}b=2; ${forgotten}c=3; other=4`;
    const reply = await answer({ csrf: csrfOf(page) }, cookie);
    expect([reply.status, reply.text]).toEqual([200, expect.stringContaining('The approvals are forgotten')]);
    const cleared = reply.headers.getSetCookie();
    expect(cleared.map((one) => one.split('=')[0])).toEqual([
      ...[`__Host-${forgotten}a`, `__Host-${forgotten}b`, '__Host-vmcp-logout'],
    ]);
    for (const one of cleared) expect(one).toContain('Max-Age=0');
  });

  it('is rejected with 403 from a page of another site, which lacks the cookie', async () => {
    const [page, other] = [await get({}), await get({})];
    for (const cookie of ['', cookieOf(other), '__Host-vmcp-logout=x']) {
      const reply = await answer({ csrf: csrfOf(page) }, cookie);
      expect([reply.status, reply.headers.getSetCookie()]).toEqual([403, []]);
    }
    expect((await answer({ csrf: 'x' }, cookieOf(page))).status).toBe(403);
  });
});
