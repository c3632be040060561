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
    it('gives what a login left behind, and the same at the next call', async () => {
      const world = await start();
      await world.login(ALICE, 'github', GRANT);
      expect(accessOf(await world.tokens.get(ALICE, 'github'))).toBe('first-access');
      expect(accessOf(await world.tokens.get(ALICE, 'github'))).toBe('first-access');
      expect(world.refreshCount()).toBe(0);
    });

    it('gives nothing for a provider or a login that it does not know, and names the provider', async () => {
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
    ])('gives nothing to %s, and the owner keeps it', async (_, difference) => {
      const world = await start();
      await world.login(ALICE, 'github', GRANT, [NEXT]);
      expect(await failure(world, { ...ALICE, ...difference }, 'github')).toEqual(loginNeeded());
      const refused = (await world.tokens.get(ALICE, 'github')).accessToken;
      expect(await failure(world, { ...ALICE, ...difference }, 'github', { refused })).toEqual(loginNeeded());
      expect(accessOf(await world.tokens.get(ALICE, 'github'))).toBe('first-access');
      expect(world.refreshCount()).toBe(0);
    });

    it('tells pairs of login and provider apart whatever their letters', async () => {
      const world = await start();
      await world.login({ ...ALICE, tsid: 'a' }, 'b-c', GRANT);
      expect(await failure(world, { ...ALICE, tsid: 'a-b' }, 'c')).toEqual(loginNeeded('c'));
      expect(await failure(world, { ...ALICE, tsid: 'a:b' }, 'c')).toEqual(loginNeeded('c'));
    });

    it('gives nothing after a logout', async () => {
      const world = await start();
      await world.login(ALICE, 'github', GRANT, [NEXT]);
      await world.logout(ALICE, 'github');
      expect(await failure(world, ALICE, 'github')).toEqual(loginNeeded());
    });

    it('gives what the latest of two logins left behind', async () => {
      const world = await start();
      await world.login(ALICE, 'github', GRANT, ['dead']);
      await world.login(ALICE, 'github', NEXT);
      expect(accessOf(await world.tokens.get(ALICE, 'github'))).toBe('second-access');
    });

    describeExpiry(start, failure, loginNeeded);
    describeRefusal(start, failure, loginNeeded);
    describeIdTokens(start);

    it('shows no token to JSON, to a text or to an error', async () => {
      const world = await start();
      await world.login(ALICE, 'github', { ...GRANT, idToken: 'first-id', idTokenExpiresIn: 3_600 });
      const token = await world.tokens.get(ALICE, 'github', { idToken: true });
      expect(`${JSON.stringify(token)} ${String(token.accessToken)}`).not.toMatch(/first-/u);
    });

    it('says that the store is down, and gives the token when it is up again', async () => {
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

  it('asks for a login when an expired token has no refresh token', async () => {
    const world = await start();
    await world.login(ALICE, 'github', GRANT);
    world.advance(3_600_000);
    expect(await failure(world, ALICE, 'github')).toEqual(loginNeeded());
  });

  it('asks for a login when the grant is dead, and asks the provider no second time', async () => {
    const world = await start();
    await world.login(ALICE, 'github', GRANT, ['dead']);
    world.advance(3_600_000);
    expect(await failure(world, ALICE, 'github')).toEqual(loginNeeded());
    expect(await failure(world, ALICE, 'github')).toEqual(loginNeeded());
    expect(world.refreshCount()).toBe(1);
  });

  it('goes on with a token that is about to expire while the provider does not answer', async () => {
    const world = await start();
    await world.login(ALICE, 'github', GRANT, ['unavailable']);
    world.advance(3_590_000);
    expect(accessOf(await world.tokens.get(ALICE, 'github'))).toBe('first-access');
  });

  it('says that the provider does not answer once the token has expired, and recovers', async () => {
    const world = await start();
    await world.login(ALICE, 'github', GRANT, ['unavailable', NEXT]);
    world.advance(3_600_000);
    expect(await failure(world, ALICE, 'github')).toMatchObject({ fault: 'unavailable' });
    expect(accessOf(await world.tokens.get(ALICE, 'github'))).toBe('second-access');
  });

  it('refreshes once for 50 callers at the same time, and a dead grant fails each of them', async () => {
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

  it('never gives one user the token of another, whoever refreshes when', async () => {
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
  it('obtains another token in place of a refused one, once for 50 callers at the same time', async () => {
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
  ])('asks for a login in place of a refused token %s', async (_, refreshes) => {
    const world = await start();
    await world.login(ALICE, 'github', GRANT, refreshes);
    const refused = (await world.tokens.get(ALICE, 'github')).accessToken;
    expect(await failure(world, ALICE, 'github', { refused })).toEqual(loginNeeded());
  });

  it('knows a refused token by its text, and takes no other for it', async () => {
    const world = await start();
    await world.login(ALICE, 'github', GRANT, [NEXT]);
    const get = async (text: string) => accessOf(await world.tokens.get(ALICE, 'github', { refused: new Secret(text) }));
    expect(await get('an-older-access')).toBe('first-access');
    expect(world.refreshCount()).toBe(0);
    expect(await get('first-access')).toBe('second-access');
  });

  it('never gives a refused token again while the provider does not answer', async () => {
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

  it('gives the ID token of the login while it is valid', async () => {
    const world = await start();
    await world.login(ALICE, 'corp', WITH_ID, [NEXT]);
    expect(idOf(world, await world.tokens.get(ALICE, 'corp', { idToken: true }))).toBe('first-id');
    expect(world.refreshCount()).toBe(0);
  });

  it('refreshes for an ID token that has expired only when one is wanted', async () => {
    const world = await start();
    await world.login(ALICE, 'corp', WITH_ID, [{ ...NEXT, idToken: 'second-id', idTokenExpiresIn: 300 }]);
    world.advance(300_000);
    expect(accessOf(await world.tokens.get(ALICE, 'corp'))).toBe('first-access');
    expect(world.refreshCount()).toBe(0);
    expect(idOf(world, await world.tokens.get(ALICE, 'corp', { idToken: true }))).toBe('second-id');
    expect(world.refreshCount()).toBe(1);
  });

  it('keeps the ID token of the login when a refresh brings none', async () => {
    const world = await start();
    await world.login(ALICE, 'corp', { ...WITH_ID, idTokenExpiresIn: 7_200 }, [NEXT]);
    world.advance(3_600_000);
    const token = await world.tokens.get(ALICE, 'corp', { idToken: true });
    expect([accessOf(token), idOf(world, token)]).toEqual(['second-access', 'first-id']);
  });

  it('dates an ID token that has expired and cannot be renewed', async () => {
    const world = await start();
    await world.login(ALICE, 'corp', WITH_ID, [NEXT]);
    world.advance(300_000);
    const { idToken, idTokenExpiresAt } = await world.tokens.get(ALICE, 'corp', { idToken: true });
    expect(idToken === undefined || idTokenExpiresAt !== undefined).toBe(true);
  });
}
