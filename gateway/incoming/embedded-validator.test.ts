import { beforeEach, describe, expect, it } from 'vitest';
import { startIssuer, type Issuer } from '../../e2e/harness/issuer.ts';
import { testScope } from '../../e2e/harness/scope.ts';
import { keySetOf, type KeySet, type KeySource } from './key-set.ts';
import { AUDIENCE, validatorFor, verdictOn, type UnderTest } from './testdata/validator-under-test.ts';

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

const setOf = (issuer: Issuer): Promise<KeySet> => keySetOf({ keys: issuer.keys.map(({ publicJwk }) => publicJwk) });

describe('tokens of the embedded authorization server', () => {
  let issuer: Issuer;
  let keys: OwnKeys;
  let tested: UnderTest;
  beforeEach(async () => {
    issuer = await startIssuer(testScope(), { algorithms: ['ES256'], audience: AUDIENCE });
    keys = new OwnKeys(await setOf(issuer));
    tested = validatorFor(testScope(), issuer.url, { deps: { inProcessKeys: keys } });
  });

  it('are verified without any request', async () => {
    const token = issuer.token({ tsid: 't-1' });
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
  ])('are refused: %s %j %j', async (verdict, claims, header) => {
    expect(await verdictOn(tested.validator, issuer.token(claims, { header }))).toBe(verdict);
    expect(issuer.seen).toEqual([]);
  });

  it('of a withdrawn key are refused at once', async () => {
    const token = issuer.token();
    await tested.validator.validate(token);
    issuer.rotate();
    keys.latest = await setOf(issuer);
    expect(await verdictOn(tested.validator, token)).toBe('kid');
    expect(await verdictOn(tested.validator, issuer.token())).toBe('sub: ann');
  });
});
