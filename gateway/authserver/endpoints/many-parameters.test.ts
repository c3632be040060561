import { describe, expect, it } from 'vitest';
import { clientServer, type ClientServer } from './testdata/client-server.ts';

const KNOWN = 'token=x&client_id=vcl_public';

/** `count` parameters: those that the endpoints know, and distinct short names. */
const named = (count: number): string =>
  [KNOWN, ...Array.from({ length: count - 2 }, (_, index) => index.toString(36))].join('&');

/** Processor time of this process, in ms. */
async function cost(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

const FORMS = ['/oauth/revoke', '/oauth/introspect', '/oauth/token'];
const send = (server: ClientServer, path: string, text: string, as: 'form' | 'query') =>
  as === 'form' ? server.post(path, text) : server.request(`${path}?${text}`);

describe('row 83: parameters of a request', () => {
  it.each(FORMS)('cost %s no more time than their bytes, even with 16,000 names', async (path) => {
    const server = await clientServer();
    await server.post(path, named(1_000));
    const ms = await cost(() => server.post(path, named(16_000)));
    expect(ms).toBeLessThan(100);
  });

  it.each([
    ['/oauth/revoke', 'form', named(1_001)],
    ['/oauth/introspect', 'form', named(16_000)],
    ['/oauth/token', 'form', 'grant_type=refresh_token&'.repeat(1_001)],
    ['/oauth/revoke', 'form', '&'.repeat(1_000)],
  ] as const)('of %s beyond 1,000 are refused: %s', async (path, as, text) => {
    const { status, json } = await send(await clientServer(), path, text, as);
    expect([status, json]).toEqual([
      400,
      {
        error: 'invalid_request',
        error_description: 'the request has more than 1000 parameters or cookies: send fewer',
      },
    ]);
  });

  it.each([
    ['/oauth/logout', 'form'],
    ['/oauth/logout', 'query'],
  ] as const)('of %s in a %s beyond 1,000 are refused with a page', async (path, as) => {
    const { status, text } = await send(await clientServer(), path, named(1_001), as);
    expect([status, text]).toEqual([400, expect.stringContaining('more than 1000 parameters')]);
  });

  it('up to 1,000 are accepted', async () => {
    const server = await clientServer();
    expect((await server.post('/oauth/revoke', named(1_000))).status).toBe(200);
    expect((await server.request(`/oauth/logout?${named(1_000)}`)).status).toBe(200);
  });

  it('beside more than 1,000 cookies are refused with a page', async () => {
    const server = await clientServer();
    const logOut = (count: number) =>
      server.request('/oauth/logout', {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          cookie: Array.from({ length: count }, (_, index) => `c${String(index)}=`).join('; '),
        },
        body: 'csrf=x',
      });
    expect((await logOut(1_000)).status).toBe(403);
    const { status, text } = await logOut(1_001);
    expect([status, text]).toEqual([400, expect.stringContaining('more than 1000 parameters or cookies')]);
  });

  it('in a registration beyond 1,000 are refused', async () => {
    const server = await clientServer();
    const register = (members: string) =>
      server.request('/oauth/register', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: `{"redirect_uris":["https://client.example/cb"],${members}}`,
      });
    const members = (count: number) => Array.from({ length: count }, (_, index) => `"${index.toString(36)}":1`).join();
    expect((await register(members(999))).status).toBe(201);
    expect((await register(members(1_000))).json).toMatchObject({ error: 'invalid_client_metadata' });
    expect((await register(`"contacts":[${'1,'.repeat(20_000)}1]`)).json).toMatchObject({
      error: 'invalid_client_metadata',
    });
  });
});
