import { beforeEach, expect, it } from 'vitest';
import { memoryStore } from '../storage/memory.ts';
import { json, raw } from '../upstream/testdata/scripted-provider.ts';
import { faultOf } from './testdata/credential-failure.ts';
import { replicasOver, type Replicas } from './testdata/replicas.ts';

const HOUR_MS = 3_600_000;
const EARLIER = { tsid: 'earlier', subject: 'alice', clientId: 'desktop' };
const LATER = { tsid: 'later', subject: 'alice', clientId: 'terminal' };
/** Answer of Dex to a refresh token that a later login has replaced. */
const CLAIMED = {
  error: 'invalid_request',
  error_description: 'Refresh token is invalid or has already been claimed by another client.',
};

let replicas: Replicas;
/** The only refresh token that the provider accepts for the user and the gateway; each use replaces it. */
let valid = '';
/** Refresh tokens in the order in which they were presented. */
let shown: string[] = [];

beforeEach(async () => {
  replicas = await replicasOver(async (now) => [memoryStore(now)]);
  [valid, shown] = ['token-0', []];
  let count = 0;
  replicas.rotating.provider.answers['token'] = (res, request) => {
    const presented = request.form.get('refresh_token') ?? '';
    shown.push(presented);
    if (presented !== valid) return json(CLAIMED, 400)(res, request);
    count += 1;
    valid = `token-${String(count)}`;
    const reply = { access_token: `access-${String(count)}`, token_type: 'Bearer', expires_in: 3_600 };
    return json({ ...reply, refresh_token: valid })(res, request);
  };
});

const loginOf = (owner: typeof EARLIER, refreshToken: string, row = {}) =>
  replicas.login(owner, 'corp', {
    grant: { accessToken: `first of ${owner.tsid}`, expiresIn: 3_600 },
    row: { refreshToken, storedAt: replicas.now(), ...row },
  });

/** Logs in twice: the provider then accepts the refresh token of the second login only. */
async function twoLogins(later = LATER, row = {}) {
  const first = await loginOf(EARLIER, 'replaced');
  replicas.advance(1_000);
  const second = await loginOf(later, 'token-0', row);
  return { first, second };
}

const access = async (owner: typeof EARLIER): Promise<string> =>
  (await replicas.sessions[0].upstreamTokens.get(owner, 'corp', {})).accessToken.reveal();
const fault = (owner: typeof EARLIER) => faultOf(() => replicas.sessions[0].upstreamTokens.get(owner, 'corp', {}));
const isDead = ({ tsid }: typeof EARLIER) => replicas.sessions[0].isUpstreamDead(tsid);

it('an earlier login gets the tokens of the latest one, and both continue', async () => {
  await twoLogins();
  for (const [round, order] of [
    [EARLIER, LATER],
    [LATER, EARLIER],
    [EARLIER, LATER],
  ].entries()) {
    // oxfmt-ignore
    replicas.advance(HOUR_MS);
    for (const owner of order) expect(await access(owner)).toBe(`access-${String(round + 1)}`);
    expect([await isDead(EARLIER), await isDead(LATER)]).toEqual([false, false]);
  }
  expect(shown).toEqual(['replaced', 'token-0', 'token-1', 'token-2']);
  expect(replicas.events.map(([event]) => event)).not.toContain('upstream_token_dead');
});

it('many calls of both logins at once present each refresh token once', async () => {
  await twoLogins();
  replicas.advance(HOUR_MS);
  const calls = Array.from({ length: 20 }, (_, index) => access(index % 2 === 0 ? EARLIER : LATER));
  expect(new Set(await Promise.all(calls))).toEqual(new Set(['access-1']));
  expect(shown.toSorted()).toEqual(['replaced', 'token-0']);
});

it('the refresh of a client finds the shared tokens too', async () => {
  await twoLogins();
  replicas.advance(HOUR_MS);
  expect(await isDead(EARLIER)).toBe(false);
  replicas.advance(HOUR_MS);
  expect(await isDead(EARLIER)).toBe(false);
  expect(await access(EARLIER)).toBe('access-2');
});

it('the earlier login continues when the latest one ends', async () => {
  const { second } = await twoLogins();
  replicas.advance(HOUR_MS);
  expect(await access(EARLIER)).toBe('access-1');
  await replicas.sessions[0].end(second);
  await expect.poll(async () => (await replicas.row(EARLIER, 'corp'))?.refreshToken).toBe('token-1');
  replicas.advance(HOUR_MS);
  expect(await access(EARLIER)).toBe('access-2');
  expect(replicas.rotating.provider.to('revoke')).toEqual([]);
});

it('all logins need a new one when the latest token is useless, and each client is told once', async () => {
  await twoLogins();
  valid = 'of another program';
  replicas.advance(HOUR_MS);
  expect([await fault(EARLIER), await fault(LATER)]).toEqual(['reauthenticate', 'reauthenticate']);
  expect([await isDead(EARLIER), await isDead(LATER)]).toEqual([true, true]);
  const requests = shown.length;
  expect([await fault(EARLIER), await fault(LATER)]).toEqual(['reauthenticate', 'reauthenticate']);
  expect(shown).toHaveLength(requests);
});

it('a provider that fails meanwhile ends no login', async () => {
  await twoLogins();
  replicas.advance(HOUR_MS);
  const { provider } = replicas.rotating;
  const { token } = provider.answers;
  provider.answers['token'] = (res, request) =>
    request.form.get('refresh_token') === 'replaced' ? json(CLAIMED, 400)(res, request) : raw(503, {})(res, request);
  expect(await fault(EARLIER)).toBe('unavailable');
  provider.answers['token'] = token!;
  expect(await access(EARLIER)).toBe('access-1');
});

it('a grant that the provider has ended is not replaced by that of another login', async () => {
  await twoLogins();
  replicas.advance(HOUR_MS);
  const { provider } = replicas.rotating;
  const { token } = provider.answers;
  provider.answers['token'] = (res, request) =>
    request.form.get('refresh_token') === 'replaced'
      ? json({ error: 'invalid_grant' }, 400)(res, request)
      : token!(res, request);
  expect(await fault(EARLIER)).toBe('reauthenticate');
  expect(await access(LATER)).toBe('access-1');
});

it.each([
  ['another user', { ...LATER, subject: 'bob' }, {}],
  ['another account at the provider', LATER, { upstreamSubject: 'other' }],
  ['another client id at the provider', LATER, { upstreamClientId: 'other' }],
])('the tokens of %s are never shared', async (_, later, row) => {
  await twoLogins(later, row);
  replicas.advance(HOUR_MS);
  expect(await fault(EARLIER)).toBe('reauthenticate');
  expect(shown).toEqual(['replaced']);
});
