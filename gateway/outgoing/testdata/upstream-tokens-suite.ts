import { describe, expect, it } from 'vitest';
import { Secret } from '../../contract/identity.ts';
import { CredentialError, type CredentialFault } from '../authenticator.ts';
import type { UpstreamToken, UpstreamTokenOwner, UpstreamTokens } from '../upstream-tokens.ts';

/** Tokens as a provider gives them, with lives in seconds. */
interface Grant {
  readonly accessToken: string;
  readonly expiresIn?: number;
  readonly idToken?: string;
  readonly idTokenExpiresIn?: number;
}

/** Answer of a provider to a refresh. The last answer of a list repeats. */
type RefreshAnswer = Grant | 'dead' | 'unavailable';

/** A store of upstream tokens, with scripted providers and a clock. */
export interface UpstreamTokensWorld {
  readonly tokens: UpstreamTokens;
  /** Stores the tokens of a login at a provider, without a refresh token when `refreshes` is absent. */
  login(owner: UpstreamTokenOwner, provider: string, grant: Grant, refreshes?: readonly RefreshAnswer[]): Promise<void>;
  /** Deletes the tokens of a provider, as a logout does. */
  logout(owner: UpstreamTokenOwner, provider: string): Promise<void>;
  /** Number of refresh requests that the providers have received. */
  refreshCount(): number;
  advance(ms: number): void;
  setStoreDown(down: boolean): Promise<void>;
  /** Returns the ID token that stands for a name. When absent, the name itself is the token. */
  idTokenNamed?(text: string): string;
}

const ALICE: UpstreamTokenOwner = { tsid: 'tsid-of-alice', subject: 'alice', clientId: 'desktop' };
const BOB: UpstreamTokenOwner = { tsid: 'tsid-of-bob', subject: 'bob', clientId: 'desktop' };
const GRANT = { accessToken: 'first-access', expiresIn: 3_600 };
const NEXT = { accessToken: 'second-access', expiresIn: 3_600 };

const accessOf = (token: UpstreamToken): string => token.accessToken.reveal();

/** Tests that every `UpstreamTokens` must pass. `start` returns a new, empty world for each test. */
export function describeUpstreamTokens(name: string, start: () => Promise<UpstreamTokensWorld>): void {
  /** The fault and the provider of a `get` that gives nothing. */
  async function failure({ tokens }: UpstreamTokensWorld, ...args: Parameters<UpstreamTokens['get']>) {
    const error: unknown = await new Promise((resolve) => resolve(tokens.get(...args))).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(CredentialError);
    const { fault, provider, message } = error as CredentialError;
    expect(`${message} ${JSON.stringify(error)}`).not.toMatch(/first-access|second-access|first-id/u);
    return { fault, provider };
  }
  const loginNeeded: LoginNeeded = (provider = 'github') => ({ fault: 'reauthenticate', provider });

  describe(name, () => {
    it('returns the token of a login, and the same token at the next call', async () => {
      const world = await start();
      await world.login(ALICE, 'github', GRANT);
      expect(accessOf(await world.tokens.get(ALICE, 'github'))).toBe('first-access');
      expect(accessOf(await world.tokens.get(ALICE, 'github'))).toBe('first-access');
      expect(world.refreshCount()).toBe(0);
    });

    it('requires a login for an unknown provider or login, and names the provider', async () => {
      const world = await start();
      expect(await failure(world, ALICE, 'github')).toEqual(loginNeeded());
      await world.login(ALICE, 'github', GRANT);
      expect(await failure(world, ALICE, 'corp')).toEqual(loginNeeded('corp'));
      expect(await failure(world, BOB, 'github')).toEqual(loginNeeded());
    });

    it.each([
      ['another user', { subject: 'bob' }],
      ['another client', { clientId: 'browser' }],
      ['no client', { clientId: undefined }],
      ['another login', { tsid: 'tsid-of-bob' }],
      ['a name that every object has', { tsid: '__proto__' }],
    ])('returns no token to %s, and the owner keeps it', async (_, difference) => {
      const world = await start();
      await world.login(ALICE, 'github', GRANT, [NEXT]);
      expect(await failure(world, { ...ALICE, ...difference }, 'github')).toEqual(loginNeeded());
      const refused = (await world.tokens.get(ALICE, 'github')).accessToken;
      expect(await failure(world, { ...ALICE, ...difference }, 'github', { refused })).toEqual(loginNeeded());
      expect(accessOf(await world.tokens.get(ALICE, 'github'))).toBe('first-access');
      expect(world.refreshCount()).toBe(0);
    });

    it('distinguishes pairs of login and provider with the same concatenation', async () => {
      const world = await start();
      await world.login({ ...ALICE, tsid: 'a' }, 'b-c', GRANT);
      expect(await failure(world, { ...ALICE, tsid: 'a-b' }, 'c')).toEqual(loginNeeded('c'));
      expect(await failure(world, { ...ALICE, tsid: 'a:b' }, 'c')).toEqual(loginNeeded('c'));
    });

    it('returns no token after a logout', async () => {
      const world = await start();
      await world.login(ALICE, 'github', GRANT, [NEXT]);
      await world.logout(ALICE, 'github');
      expect(await failure(world, ALICE, 'github')).toEqual(loginNeeded());
    });

    it('returns the token of the latest of two logins', async () => {
      const world = await start();
      await world.login(ALICE, 'github', GRANT, ['dead']);
      await world.login(ALICE, 'github', NEXT);
      expect(accessOf(await world.tokens.get(ALICE, 'github'))).toBe('second-access');
    });

    describeExpiry(start, failure, loginNeeded);
    describeRefusal(start, failure, loginNeeded);
    describeIdTokens(start);

    it('hides the token in JSON, in texts and in errors', async () => {
      const world = await start();
      await world.login(ALICE, 'github', { ...GRANT, idToken: 'first-id', idTokenExpiresIn: 3_600 });
      const token = await world.tokens.get(ALICE, 'github', { idToken: true });
      expect(`${JSON.stringify(token)} ${String(token.accessToken)}`).not.toMatch(/first-/u);
    });

    it('reports that the store is down, and returns the token when it is up again', async () => {
      const world = await start();
      await world.login(ALICE, 'github', GRANT);
      await world.setStoreDown(true);
      expect(await failure(world, BOB, 'github')).toMatchObject({ fault: 'store_unavailable' });
      await world.setStoreDown(false);
      expect(accessOf(await world.tokens.get(ALICE, 'github'))).toBe('first-access');
    });
  });
}

type Start = () => Promise<UpstreamTokensWorld>;
type Failure = (
  world: UpstreamTokensWorld,
  ...args: Parameters<UpstreamTokens['get']>
) => Promise<{ fault: CredentialFault; provider: string | undefined }>;
type LoginNeeded = (provider?: string) => { fault: CredentialFault; provider: string };

function describeExpiry(start: Start, failure: Failure, loginNeeded: LoginNeeded): void {
  it.each([
    ['expired', 3_600_000],
    ['about to expire', 3_590_000],
  ])('refreshes a token that is %s, once', async (_, ms) => {
    const world = await start();
    await world.login(ALICE, 'github', GRANT, [NEXT]);
    world.advance(ms);
    expect(accessOf(await world.tokens.get(ALICE, 'github'))).toBe('second-access');
    expect(accessOf(await world.tokens.get(ALICE, 'github'))).toBe('second-access');
    expect(world.refreshCount()).toBe(1);
  });

  it('never refreshes a token that does not expire', async () => {
    const world = await start();
    await world.login(ALICE, 'github', { accessToken: 'first-access' }, [NEXT]);
    world.advance(365 * 86_400_000);
    expect(accessOf(await world.tokens.get(ALICE, 'github'))).toBe('first-access');
    expect(world.refreshCount()).toBe(0);
  });

  it('requires a login when an expired token has no refresh token', async () => {
    const world = await start();
    await world.login(ALICE, 'github', GRANT);
    world.advance(3_600_000);
    expect(await failure(world, ALICE, 'github')).toEqual(loginNeeded());
  });

  it('requires a login when the grant is dead, and sends no second request to the provider', async () => {
    const world = await start();
    await world.login(ALICE, 'github', GRANT, ['dead']);
    world.advance(3_600_000);
    expect(await failure(world, ALICE, 'github')).toEqual(loginNeeded());
    expect(await failure(world, ALICE, 'github')).toEqual(loginNeeded());
    expect(world.refreshCount()).toBe(1);
  });

  it('returns a token that is about to expire while the provider does not answer', async () => {
    const world = await start();
    await world.login(ALICE, 'github', GRANT, ['unavailable']);
    world.advance(3_590_000);
    expect(accessOf(await world.tokens.get(ALICE, 'github'))).toBe('first-access');
  });

  it('reports that the provider does not answer once the token has expired, and recovers', async () => {
    const world = await start();
    await world.login(ALICE, 'github', GRANT, ['unavailable', NEXT]);
    world.advance(3_600_000);
    expect(await failure(world, ALICE, 'github')).toMatchObject({ fault: 'unavailable' });
    expect(accessOf(await world.tokens.get(ALICE, 'github'))).toBe('second-access');
  });

  it('refreshes once for 50 concurrent callers, and a dead grant fails each of them', async () => {
    const world = await start();
    await world.login(ALICE, 'github', GRANT, [NEXT]);
    await world.login(BOB, 'github', GRANT, ['dead']);
    world.advance(3_600_000);
    const many = Array.from({ length: 50 });
    const got = await Promise.all(many.map(async () => accessOf(await world.tokens.get(ALICE, 'github'))));
    expect(new Set(got)).toEqual(new Set(['second-access']));
    expect(world.refreshCount()).toBe(1);
    const failed = await Promise.all(many.map(() => failure(world, BOB, 'github')));
    expect(failed).toEqual(many.map(() => loginNeeded()));
    expect(world.refreshCount()).toBe(2);
  });

  it('never returns the token of another user, in any order of refreshes', async () => {
    const world = await start();
    const users = Array.from({ length: 20 }, (_, n) => ({ ...ALICE, tsid: `t${String(n)}`, subject: `u${String(n)}` }));
    for (const user of users) {
      await world.login(user, 'github', { accessToken: `${user.subject}-old`, expiresIn: 100 }, [
        { accessToken: `${user.subject}-new`, expiresIn: 3_600 },
      ]);
    }
    world.advance(100_000);
    const asked = [...users, ...users.toReversed(), ...users];
    const got = await Promise.all(asked.map(async (user) => accessOf(await world.tokens.get(user, 'github'))));
    expect(got).toEqual(asked.map(({ subject }) => `${subject}-new`));
    expect(world.refreshCount()).toBe(20);
  });
}

function describeRefusal(start: Start, failure: Failure, loginNeeded: LoginNeeded): void {
  it('replaces a refused token once for 50 concurrent callers', async () => {
    const world = await start();
    await world.login(ALICE, 'github', GRANT, [NEXT]);
    const refused = (await world.tokens.get(ALICE, 'github')).accessToken;
    const again = () => Promise.resolve(world.tokens.get(ALICE, 'github', { refused }));
    const got = await Promise.all(Array.from({ length: 50 }, again));
    expect(new Set(got.map(accessOf))).toEqual(new Set(['second-access']));
    expect(accessOf(await again())).toBe('second-access');
    expect(accessOf(await world.tokens.get(ALICE, 'github'))).toBe('second-access');
    expect(world.refreshCount()).toBe(1);
  });

  it.each([
    ['without a refresh token', undefined],
    ['of a dead grant', ['dead' as const]],
  ])('requires a login after a refused token %s', async (_, refreshes) => {
    const world = await start();
    await world.login(ALICE, 'github', GRANT, refreshes);
    const refused = (await world.tokens.get(ALICE, 'github')).accessToken;
    expect(await failure(world, ALICE, 'github', { refused })).toEqual(loginNeeded());
  });

  it('recognizes a refused token by its exact text only', async () => {
    const world = await start();
    await world.login(ALICE, 'github', GRANT, [NEXT]);
    const get = async (text: string) => accessOf(await world.tokens.get(ALICE, 'github', { refused: new Secret(text) }));
    expect(await get('an-older-access')).toBe('first-access');
    expect(world.refreshCount()).toBe(0);
    expect(await get('first-access')).toBe('second-access');
  });

  it('never returns a refused token again while the provider does not answer', async () => {
    const world = await start();
    await world.login(ALICE, 'github', GRANT, ['unavailable', NEXT]);
    const refused = (await world.tokens.get(ALICE, 'github')).accessToken;
    expect(await failure(world, ALICE, 'github', { refused })).toMatchObject({ fault: 'unavailable' });
    expect(accessOf(await world.tokens.get(ALICE, 'github', { refused }))).toBe('second-access');
  });
}

function describeIdTokens(start: Start): void {
  const WITH_ID = { ...GRANT, idToken: 'first-id', idTokenExpiresIn: 300 };
  const idOf = ({ idTokenNamed = (text) => text }: UpstreamTokensWorld, { idToken }: UpstreamToken) =>
    idToken && idTokenNamed(idToken.reveal());

  it('returns the ID token of the login while it is valid', async () => {
    const world = await start();
    await world.login(ALICE, 'corp', WITH_ID, [NEXT]);
    expect(idOf(world, await world.tokens.get(ALICE, 'corp', { idToken: true }))).toBe('first-id');
    expect(world.refreshCount()).toBe(0);
  });

  it('refreshes for an expired ID token only when one is requested', async () => {
    const world = await start();
    await world.login(ALICE, 'corp', WITH_ID, [{ ...NEXT, idToken: 'second-id', idTokenExpiresIn: 300 }]);
    world.advance(300_000);
    expect(accessOf(await world.tokens.get(ALICE, 'corp'))).toBe('first-access');
    expect(world.refreshCount()).toBe(0);
    expect(idOf(world, await world.tokens.get(ALICE, 'corp', { idToken: true }))).toBe('second-id');
    expect(world.refreshCount()).toBe(1);
  });

  it('keeps the ID token of the login when a refresh returns none', async () => {
    const world = await start();
    await world.login(ALICE, 'corp', { ...WITH_ID, idTokenExpiresIn: 7_200 }, [NEXT]);
    world.advance(3_600_000);
    const token = await world.tokens.get(ALICE, 'corp', { idToken: true });
    expect([accessOf(token), idOf(world, token)]).toEqual(['second-access', 'first-id']);
  });

  it('returns an expired ID token that cannot be renewed only together with its expiry', async () => {
    const world = await start();
    await world.login(ALICE, 'corp', WITH_ID, [NEXT]);
    world.advance(300_000);
    const { idToken, idTokenExpiresAt } = await world.tokens.get(ALICE, 'corp', { idToken: true });
    expect(idToken === undefined || idTokenExpiresAt !== undefined).toBe(true);
  });
}
