import { createHmac, createPublicKey } from 'node:crypto';
import { renameSync, rmSync } from 'node:fs';
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { compactJws, signatureBy } from '../../../e2e/harness/issuer-keys.ts';
import { testScope } from '../../../e2e/harness/scope.ts';
import { readKeySet, type KeySource } from '../../incoming/keys/key-set.ts';
import { validatorFor, verdictOn } from '../../incoming/testdata/validator-under-test.ts';
import {
  ACCESS_TOKEN_TYPE,
  accessTokenClaims,
  ID_TOKEN_TYPE,
  idTokenClaims,
  type LoginGrant,
} from '../core/token-endpoint/issued-claims.ts';
import { SigningKeys } from './signing-keys.ts';
import { ecKey, folder, pem, recordingLog, rsaKey, stillClock } from './testdata/files.ts';

const ISSUER = 'https://gateway.example/team';
const GRANT: LoginGrant = {
  clientId: 'client-1',
  resource: 'https://gateway.example/team/mcp',
  scopes: ['openid', 'mcp'],
  tsid: 't-1',
  login: { userId: 'user-1', authTime: 1 },
};
const seconds = (): number => Math.floor(Date.now() / 1_000);
const at = () => ({ issuer: ISSUER, now: Date.now(), lifespanSeconds: 3_600 });
const accessToken = (keys: SigningKeys, changes: object = {}): Promise<string> =>
  keys.signer().sign(ACCESS_TOKEN_TYPE, { ...accessTokenClaims(GRANT, at(), 'jti-1'), ...changes });

const ephemeral = (): SigningKeys => new SigningKeys({ files: [], log: recordingLog().log });

/** Creates the validator of client tokens with these keys. */
const judge = (keys: SigningKeys) =>
  validatorFor(testScope(), ISSUER, {
    oidc: { audience: GRANT.resource },
    deps: { embedded: { keys: keys satisfies KeySource, liveness: { isLive: () => true } } },
  }).validator;
const verdict = (keys: SigningKeys, token: string): Promise<string> => verdictOn(judge(keys), token);

/** Creates keys from files that a test can replace, with a manual clock. */
function keysIn(contents: Readonly<Record<string, string>>) {
  const dir = folder(testScope());
  const files = Object.entries(contents).map(([name, content]) => dir.write(name, content));
  const { log, lines } = recordingLog();
  const clock = stillClock();
  return { keys: new SigningKeys({ files, log, now: clock.now }), dir, lines, ...clock };
}

describe('keys of the process', () => {
  it('sign with ES256, with a warning', async () => {
    const { log, lines } = recordingLog();
    const keys = new SigningKeys({ files: [], log });
    expect(keys.ephemeral).toBe(true);
    expect(keys.algorithms()).toEqual(['ES256']);
    expect(lines).toEqual([{ level: 'warn', message: expect.stringContaining('no signing key') }]);
    expect(await verdict(keys, await accessToken(keys))).toBe('sub: user-1');
  });

  it('reject a token of the previous process', async () => {
    expect(await verdict(ephemeral(), await accessToken(ephemeral()))).toBe('kid');
  });
});

describe('an issued token', () => {
  it.each([
    ['RS256', pem(rsaKey())],
    ['ES256', pem(ecKey())],
    ['ES384', pem(ecKey('P-384'), 'sec1')],
    ['ES512', pem(ecKey('P-521'))],
  ])('of %s has alg, kid and typ, and is verified in this process', async (alg, text) => {
    const { keys } = keysIn({ key: text });
    const token = await accessToken(keys);
    expect(keys.ephemeral).toBe(false);
    expect(decodeProtectedHeader(token)).toEqual({ alg, kid: keys.jwks().keys[0]?.kid, typ: 'at+jwt' });
    expect(keys.signer().alg).toBe(alg);
    const identity = await judge(keys).validate(token);
    expect(identity).toMatchObject({ subject: 'user-1', clientId: 'client-1', tsid: 't-1' });
    expect([...identity.scopes]).toEqual(['openid', 'mcp']);
  });

  it('is rejected when it is an ID token', async () => {
    const keys = ephemeral();
    const signer = keys.signer();
    const claims = idTokenClaims({ ...GRANT, clientId: GRANT.resource }, at(), {
      sessionId: 's',
      accessToken: 'a',
      alg: signer.alg,
    });
    const idToken = await signer.sign(ID_TOKEN_TYPE, claims);
    expect(await verdict(keys, idToken)).toBe('token_type');
    const { payload } = await jwtVerify(idToken, keys.current().find, { typ: 'JWT' });
    expect(payload).toMatchObject({ sub: 'user-1' });
    await expect(jwtVerify(await accessToken(keys), keys.current().find, { typ: 'JWT' })).rejects.toThrow('typ');
  });

  it.each([
    ['for another server', { aud: 'https://gateway.example/other/mcp' }, 'audience'],
    ['without exp', { exp: undefined }, 'expired'],
    ['expired beyond the clock tolerance', { exp: seconds() - 31 }, 'expired'],
    ['not yet valid', { nbf: seconds() + 60 }, 'not_yet_valid'],
    ['without aud', { aud: undefined }, 'audience'],
    ['iss with a slash', { iss: `${ISSUER}/` }, 'issuer'],
    ['without sub', { sub: undefined }, 'subject'],
    ['sub a number', { sub: 1 as unknown as string }, 'subject'],
  ])('is rejected: %s', async (_what, changes, reason) => {
    const keys = ephemeral();
    expect(await verdict(keys, await accessToken(keys, changes))).toBe(reason);
  });
});

describe('a forged token', () => {
  const own = ecKey();
  const stranger = rsaKey();
  const claims = () => accessTokenClaims(GRANT, at(), 'jti-1');
  const publicPem = createPublicKey(own).export({ format: 'pem', type: 'spki' }).toString();
  const jwkOf = (key: typeof own) => createPublicKey(key).export({ format: 'jwk' });
  const byOwn = (input: string): Buffer => signatureBy('ES256', own, input);
  const byStranger = (input: string): Buffer => signatureBy('RS256', stranger, input);
  const byHmac = (input: string): Buffer => createHmac('sha256', publicPem).update(input).digest();
  const none = (): Buffer => Buffer.alloc(0);

  it.each<[string, object, (input: string) => Buffer, string]>([
    ['unchanged token, accepted', {}, byOwn, 'sub: user-1'],
    ['alg none', { alg: 'none' }, none, 'algorithm'],
    ['alg NONE', { alg: 'NONE' }, none, 'algorithm'],
    ['HS256 with the public key', { alg: 'HS256' }, byHmac, 'algorithm'],
    ['RS256 instead of ES256', { alg: 'RS256' }, byStranger, 'kid'],
    ['another ECDSA algorithm', { alg: 'ES384' }, byOwn, 'kid'],
    ['unknown critical header', { crit: ['exp'] }, byOwn, 'critical_header'],
    ['embedded jwk', { alg: 'RS256', jwk: jwkOf(stranger) }, byStranger, 'kid'],
    ['jku', { jku: 'https://evil.example/jwks' }, byStranger, 'signature'],
    ['no signature', {}, none, 'signature'],
    ['a path as kid', { kid: '../../etc/passwd' }, byOwn, 'kid'],
    ['SQL as kid', { kid: `' OR 1=1 --` }, byOwn, 'kid'],
    ['kid unknown', { kid: 'unknown' }, byOwn, 'kid'],
    ['kid of 10 KB', { kid: 'k'.repeat(10_240) }, byOwn, 'kid'],
    ['no kid', { kid: undefined }, byOwn, 'kid'],
    ['typ JWT', { typ: 'JWT' }, byOwn, 'token_type'],
    ['no typ', { typ: undefined }, byOwn, 'token_type'],
  ])('%s', async (_what, header, sign, expected) => {
    const { keys } = keysIn({ key: pem(own) });
    const kid = keys.jwks().keys[0]?.kid;
    const token = compactJws({ alg: 'ES256', kid, typ: 'at+jwt', ...header }, claims(), sign);
    expect(await verdict(keys, token)).toBe(expected);
  });
});

describe('a rotation', () => {
  const [older, newer] = [pem(rsaKey()), pem(ecKey())];

  it('publishes and verifies with both keys and signs with the first, until one is removed', async () => {
    const { keys, dir, pass, lines } = keysIn({ first: older, second: newer });
    const validator = judge(keys);
    const oldToken = await accessToken(keys);
    expect(keys.jwks().keys.map(({ alg }) => alg)).toEqual(['RS256', 'ES256']);
    expect(keys.algorithms()).toEqual(['RS256', 'ES256']);
    expect(await verdictOn(validator, oldToken)).toBe('sub: user-1');

    dir.write('first', newer);
    dir.write('second', older);
    pass(1_000);
    const newToken = await accessToken(keys);
    expect(decodeProtectedHeader(newToken).alg).toBe('ES256');
    expect(await verdictOn(validator, oldToken)).toBe('sub: user-1');
    expect(await verdictOn(validator, newToken)).toBe('sub: user-1');

    dir.write('second', pem(ecKey('P-384')));
    pass(1_000);
    expect(await verdictOn(validator, oldToken)).toBe('kid');
    expect(await verdictOn(validator, newToken)).toBe('sub: user-1');
    expect(keys.jwks().keys.map(({ alg }) => alg)).toEqual(['ES256', 'ES384']);
    expect(lines).toEqual([]);
  });

  it('takes effect within a second; the key set is the same object until then', () => {
    const { keys, dir, pass } = keysIn({ key: older });
    const before = keys.latest;
    dir.write('key', newer);
    pass(999);
    expect([keys.latest, keys.current(), keys.renew()].every((set) => set === before)).toBe(true);
    pass(1);
    const after = keys.latest;
    expect(after).not.toBe(before);
    pass(1_000);
    expect(keys.latest).toBe(after);
  });

  it('uses one signer for all tokens of a response', async () => {
    const { keys, dir, pass } = keysIn({ key: older });
    const signer = keys.signer();
    dir.write('key', newer);
    pass(1_000);
    expect(keys.signer().alg).toBe('ES256');
    expect(decodeProtectedHeader(await signer.sign('JWT', {})).alg).toBe(signer.alg);
  });

  it.each([
    ['is not a key', 'hunter2', 'no private key'],
    ['is a weak key', pem(rsaKey(1024)), 'less than 2048 bits'],
    ['is the other key again', newer, 'the same key'],
    ['is missing', undefined, 'cannot be read (ENOENT)'],
  ])('to a file that %s keeps the previous keys and logs once', async (_what, content, fault) => {
    const { keys, dir, pass, lines } = keysIn({ first: older, second: newer });
    const before = keys.latest;
    if (content === undefined) rmSync(dir.path('first'));
    else dir.write('first', content);
    for (let round = 0; round < 3; round += 1) {
      pass(1_000);
      expect(keys.latest).toBe(before);
    }
    expect(lines).toEqual([
      { level: 'error', message: expect.any(String), facts: { fault: expect.stringContaining(fault) } },
    ]);
    expect(await verdict(keys, await accessToken(keys))).toBe('sub: user-1');

    dir.write('next', pem(ecKey('P-384')));
    renameSync(dir.path('next'), dir.path('first'));
    pass(1_000);
    expect(keys.signer().alg).toBe('ES384');
  });
});

describe('at start', () => {
  it.each([
    ['text that is not a key', 'hunter2', 'no private key'],
    ['the same key twice', pem(ecKey()), 'the same key'],
  ])('%s is rejected', (_what, content, message) => {
    expect(() => keysIn({ first: content, second: content })).toThrow(message);
  });

  it('the error names the file', () => {
    const dir = folder(testScope());
    const start = (file: string) => () => new SigningKeys({ files: [file], log: recordingLog().log });
    expect(start(dir.path('absent'))).toThrow(`${dir.path('absent')} cannot be read (ENOENT)`);
    expect(start(dir.write('junk', 'junk'))).toThrow(`${dir.path('junk')}: there is no private key in PEM form`);
  });
});

describe('the published key set', () => {
  it('verifies tokens with another library', async () => {
    const { keys } = keysIn({ first: pem(ecKey()), second: pem(rsaKey()) });
    const server = createServer((_req, res) => res.end(JSON.stringify(keys.jwks())));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    testScope().defer(() => new Promise((resolve) => server.close(resolve)));
    const { port } = server.address() as { port: number };
    const remote = createRemoteJWKSet(new URL(`http://127.0.0.1:${port}/`));
    const { payload } = await jwtVerify(await accessToken(keys), remote, {
      issuer: ISSUER,
      audience: GRANT.resource,
      typ: 'at+jwt',
    });
    expect(payload.sub).toBe('user-1');
    expect([...(await readKeySet(keys.jwks())).kids]).toEqual([...keys.current().kids]);
  });

  it('contains no private members', () => {
    const { keys } = keysIn({ first: pem(ecKey()), second: pem(rsaKey()) });
    for (const key of keys.jwks().keys)
      for (const member of ['d', 'p', 'q', 'dp', 'dq', 'qi']) expect(key).not.toHaveProperty(member);
  });
});
