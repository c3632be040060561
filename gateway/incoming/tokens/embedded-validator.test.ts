import { beforeEach, describe, expect, it } from 'vitest';
import { startIssuer, type Issuer } from '../../../e2e/harness/issuer.ts';
import { testScope } from '../../../e2e/harness/scope.ts';
import { readKeySet, type KeySet, type KeySource } from '../keys/key-set.ts';
import { AUDIENCE, validatorFor, verdictOn, type UnderTest } from '../testdata/validator-under-test.ts';
import type { LoginLiveness } from '../token-validator.ts';

/** Keys of an authorization server in this process. */
class OwnKeys implements KeySource {
  latest: KeySet;
  constructor(latest: KeySet) {
    this.latest = latest;
  }

  current(): KeySet {
    return this.latest;
  }

  renew(): KeySet {
    return this.latest;
  }
}

const setOf = (issuer: Issuer): Promise<KeySet> => readKeySet({ keys: issuer.keys.map(({ publicJwk }) => publicJwk) });

describe('tokens of the embedded authorization server', () => {
  let issuer: Issuer;
  let keys: OwnKeys;
  let tested: UnderTest;
  let trusted: readonly string[];
  let asked: Parameters<LoginLiveness['isLive']>[0][];
  let answer: () => ReturnType<LoginLiveness['isLive']>;
  const tokenOf = (
    claims: Readonly<Record<string, unknown>> = {},
    header: Readonly<Record<string, unknown>> = {},
  ): string => issuer.token({ tsid: 't-1', ...claims }, { header });
  beforeEach(async () => {
    issuer = await startIssuer(testScope(), { algorithms: ['ES256'], audience: AUDIENCE });
    keys = new OwnKeys(await setOf(issuer));
    asked = [];
    answer = () => true;
    trusted = [];
    const liveness: LoginLiveness = {
      trusts: (url) => trusted.includes(url),
      isLive(login) {
        asked.push(login);
        return answer();
      },
    };
    tested = validatorFor(testScope(), issuer.url, { deps: { embedded: { keys, liveness } } });
  });

  it('are verified without a network request, and synchronously the second time', async () => {
    const token = tokenOf();
    const identity = await tested.validator.validate(token);
    expect(identity.tsid).toBe('t-1');
    expect(tested.validator.validate(token)).toBe(identity);
    expect(tested.validator.status()).toEqual({ ready: true });
    tested.validator.warmUp();
    expect(issuer.seen).toEqual([]);
  });

  it.each([
    ['token_type', {}, { typ: 'JWT' }],
    ['token_type', {}, { typ: undefined }],
    ['kid', {}, { kid: undefined }],
    ['kid', {}, { kid: 'unknown' }],
    ['audience', { aud: 'other' }, {}],
    ['login_missing', { tsid: undefined }, {}],
    ['login_missing', { tsid: 7 }, {}],
    ['login_missing', { client_id: undefined, azp: undefined }, {}],
  ])('are rejected with reason %s for claims %j and header %j', async (verdict, claims, header) => {
    expect(await verdictOn(tested.validator, tokenOf(claims, header))).toBe(verdict);
    expect(issuer.seen).toEqual([]);
    expect(asked).toEqual([]);
  });

  it('are delegated ones while the login that they come from is live', async () => {
    const token = tokenOf({ client_id: 'batch', login_client_id: 'test-client', act: { sub: 'batch' } });
    const identity = await tested.validator.validate(token);
    expect(identity).toMatchObject({ clientId: 'batch', tsid: 't-1' });
    expect(asked).toEqual([{ tsid: 't-1', userId: 'ann', clientId: 'test-client' }]);
    answer = () => false;
    expect(await verdictOn(tested.validator, token)).toBe('login_ended');
  });

  it('are those of subjects of another issuer while it is trusted', async () => {
    const token = tokenOf({ tsid: undefined, subject_issuer: 'https://idp.example' });
    expect(await verdictOn(tested.validator, token)).toBe('login_missing');
    trusted = ['https://idp.example'];
    expect(await verdictOn(tested.validator, token)).toBe('sub: ann');
    expect(await verdictOn(tested.validator, tokenOf({ tsid: undefined, subject_issuer: 7 }))).toBe('login_missing');
    trusted = [];
    expect(await verdictOn(tested.validator, token)).toBe('login_missing');
    expect(asked).toEqual([]);
  });

  it('are rejected at once when their key is withdrawn', async () => {
    const token = tokenOf();
    await tested.validator.validate(token);
    issuer.rotate();
    keys.latest = await setOf(issuer);
    expect(await verdictOn(tested.validator, token)).toBe('kid');
    expect(await verdictOn(tested.validator, tokenOf())).toBe('sub: ann');
  });

  it('are accepted only while their login is live, by a synchronous or asynchronous check on each request', async () => {
    const token = tokenOf();
    expect(await verdictOn(tested.validator, token)).toBe('sub: ann');
    expect(asked).toEqual([{ tsid: 't-1', userId: 'ann', clientId: 'test-client' }]);
    answer = () => Promise.resolve(false);
    expect(await verdictOn(tested.validator, token)).toBe('login_ended');
    answer = () => false;
    expect(await verdictOn(tested.validator, token)).toBe('login_ended');
    answer = () => Promise.resolve(true);
    expect(await verdictOn(tested.validator, token)).toBe('sub: ann');
  });

  it('row 67: are neither rejected nor accepted while the liveness check of their login fails', async () => {
    const token = tokenOf();
    const down = () => Promise.reject(new Error('the store does not answer'));
    answer = down;
    expect(await verdictOn(tested.validator, token)).toBe('down: logins');
    answer = () => true;
    expect(await verdictOn(tested.validator, token)).toBe('sub: ann');
    answer = down;
    expect(await verdictOn(tested.validator, token)).toBe('down: logins');
  });

  it('are verified while the identity provider is unavailable, which the status reports', async () => {
    const status = { ready: true, reason: 'IdentityProviderUnavailable', message: 'no login at "corp"' };
    const liveness: LoginLiveness = { isLive: () => true };
    const deps = { embedded: { keys, liveness, status: () => status } };
    const { validator } = validatorFor(testScope(), issuer.url, { deps });
    expect(validator.status()).toEqual(status);
    expect(await verdictOn(validator, tokenOf())).toBe('sub: ann');
  });

  it('trigger no liveness check when the signature is invalid', async () => {
    const token = tokenOf();
    expect(await verdictOn(tested.validator, `${token.slice(0, -4)}AAAA`)).toBe('signature');
    expect(asked).toEqual([]);
  });
});
