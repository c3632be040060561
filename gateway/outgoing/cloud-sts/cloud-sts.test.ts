import { describe, expect, it } from 'vitest';
import { verifySignature } from '../../../examples/backends/signature-v4.ts';
import { assumedRole, stsError } from '../../../examples/backends/sts-reply.ts';
import { Secret, type Identity } from '../../contract/identity.ts';
import { SIGN, type CredentialHeaders } from '../authenticator.ts';
import { createAuthenticator } from '../index.ts';
import { callerOf } from '../testdata/callers.ts';
import { credentialError, strategyWorld } from '../testdata/strategy-deps.ts';
import { tokenEndpoint, type TokenAnswer } from '../testdata/token-endpoint.ts';

const arn = (name: string): string => `arn:aws:iam::123456789012:role/${name}`;
const HOUR = 3_600_000;

/** A Security Token Service that numbers its access keys, and a strategy that uses it. */
async function world(settings: object = {}) {
  const base = await strategyWorld();
  let lifeMs = HOUR;
  const give: TokenAnswer = (res) => {
    const id = String(sts.seen.length);
    const secrets = { accessKeyId: `ASIA${id}`, secretAccessKey: `secret${id}`, sessionToken: `session/${id}+=` };
    const expiresAt = base.now() + lifeMs;
    res.writeHead(200, { 'content-type': 'text/xml' }).end(assumedRole({ ...secrets, expiresAt }, arn('dev')));
  };
  const sts = await tokenEndpoint(give);
  const authenticator = createAuthenticator(
    { type: 'cloud_sts', region: 'eu-west-1', fallback_role_arn: arn('reader'), sts_endpoint: sts.url, ...settings },
    base.deps,
  );
  const headers = async (caller: Identity | undefined) => await authenticator.headers(caller);
  const caller = (subject: string, more: Partial<Identity> = {}) => callerOf(subject, base.now(), more);
  const setLife = (ms: number) => void (lifeMs = ms);
  return { ...base, sts, give, authenticator, headers, caller, setLife };
}

const refuse =
  (status: number, code: string): TokenAnswer =>
  (res) =>
    res.writeHead(status, { 'content-type': 'text/xml' }).end(stsError(code, 'Text of AWS with &#39;quotes&#39;'));

/** Signs a request and returns the key and the service that a strict verifier found. */
async function keyOf(credential: CredentialHeaders): Promise<string> {
  const sign = credential[SIGN];
  if (!sign) throw new Error('no signer');
  const body = Buffer.from('{}');
  const signed = await sign({ method: 'POST', origin: 'https://mcp.example', path: '/mcp', headers: [], body: [body] });
  const received = { method: 'POST', target: '/mcp', headers: { host: 'mcp.example', ...signed }, body };
  const { accessKeyId, service } = verifySignature(received, (id) => id.replace('ASIA', 'secret'));
  expect(signed['x-amz-security-token']).toBe(`${accessKeyId.replace('ASIA', 'session/')}+=`);
  return `${accessKeyId} ${service}`;
}

describe('the request to the Security Token Service', () => {
  it('has exactly the parameters of AssumeRoleWithWebIdentity', async () => {
    const { sts, headers, caller } = await world({
      role_mappings: [{ claim: 'dev', role_arn: arn('dev') }],
      session_duration: 900,
      service: 'execute-api',
    });
    const credential = await headers(caller('alice', { claims: { sub: 'alice', groups: ['dev'] } }));
    expect(Object.keys(credential)).toEqual([]);
    expect(await keyOf(credential)).toBe('ASIA1 execute-api');
    const [request] = sts.seen;
    expect(Object.fromEntries(request?.form ?? [])).toEqual({
      Action: 'AssumeRoleWithWebIdentity',
      Version: '2011-06-15',
      RoleArn: arn('dev'),
      RoleSessionName: 'alice',
      WebIdentityToken: 'alice-token',
      DurationSeconds: '900',
    });
    const sent = { accept: 'text/xml', 'content-type': 'application/x-www-form-urlencoded' };
    expect(request?.headers).toMatchObject(sent);
    expect(request?.headers).not.toHaveProperty('authorization');
  });

  it('presents the stored ID token of a provider, or its access token without one', async () => {
    const { sts, tokens, headers, caller } = await world({ subject_provider_name: 'corp' });
    const owner = (subject: string) => ({ tsid: `tsid-of-${subject}`, subject, clientId: 'desktop' });
    tokens.put(owner('alice'), 'corp', { accessToken: 'access', idToken: 'id-token', idTokenExpiresIn: 600 });
    tokens.put(owner('bob'), 'corp', { accessToken: 'bobs-access' });
    await headers(caller('alice'));
    await headers(caller('bob'));
    expect(sts.seen.map(({ form }) => form.get('WebIdentityToken'))).toEqual(['id-token', 'bobs-access']);
    const error = await credentialError(() => headers(caller('eve')));
    expect(error).toMatchObject({ fault: 'reauthenticate', provider: 'corp' });
  });

  it.each([
    ['a user without a role', { sub: 'alice', groups: ['ops'] }, 'forbidden'],
    ['a user without a session name', { groups: ['dev'] }, 'misconfigured'],
  ])('is not sent for %s', async (_, claims, fault) => {
    const mappings = [{ claim: 'dev', role_arn: arn('dev') }];
    const { sts, headers, caller } = await world({ fallback_role_arn: undefined, role_mappings: mappings });
    expect(await credentialError(() => headers(caller('alice', { claims })))).toMatchObject({ fault });
    expect(await credentialError(() => headers(undefined))).toMatchObject({ fault: 'misconfigured' });
    expect(sts.seen).toEqual([]);
  });

  it.each([3, 20_001])('is not sent with a token of %i bytes, which AWS does not take', async (length) => {
    const { sts, headers, caller } = await world();
    const token = new Secret('x'.repeat(length));
    const error = await credentialError(() => headers(caller('alice', { token })));
    expect([error.fault, sts.seen.length]).toEqual(['misconfigured', 0]);
  });
});

describe('credentials', () => {
  it('are obtained once for concurrent calls, and kept until five minutes before they expire', async () => {
    const { sts, headers, caller, advance, authenticator } = await world();
    const alice = caller('alice');
    const all = await Promise.all(Array.from({ length: 50 }, () => headers(alice)));
    expect(new Set(all).size).toBe(1);
    advance(HOUR - 300_001);
    expect(authenticator.headers({ ...alice, token: new Secret('a newer token') })).toBe(all[0]);
    advance(1);
    expect(await keyOf(await headers(alice))).toBe('ASIA2 aws-mcp');
    expect(sts.seen).toHaveLength(2);
  });

  it('are kept for half of a short life', async () => {
    const { sts, headers, caller, advance, setLife } = await world();
    setLife(60_000);
    await headers(caller('alice'));
    advance(29_999);
    await headers(caller('alice'));
    expect(sts.seen).toHaveLength(1);
    advance(1);
    await headers(caller('alice'));
    expect(sts.seen).toHaveLength(2);
  });

  it('are separate for each user, login and role', async () => {
    const { headers, caller } = await world({ role_mappings: [{ claim: 'dev', role_arn: arn('dev') }] });
    const callers = [
      caller('alice'),
      caller('bob'),
      caller('alice', { tsid: 'another-login' }),
      caller('alice', { claims: { sub: 'alice', groups: ['dev'] } }),
      caller('alice', { issuer: 'https://other.example', principal: '21:https://other.examplealice' }),
    ];
    const keys: string[] = [];
    for (const each of [...callers, ...callers]) keys.push(await keyOf(await headers(each)));
    expect(keys.map((key) => key.slice(4, 5)).join('')).toBe('1234512345');
  });

  it('that the backend rejects are replaced once they are a minute old', async () => {
    const { sts, headers, caller, advance, authenticator } = await world();
    const alice = caller('alice');
    const first = await headers(alice);
    expect(authenticator.refused(alice, first)).toBe(false);
    advance(60_000);
    expect(authenticator.refused(caller('bob'), first)).toBe(false);
    expect(authenticator.refused(alice, first)).toBe(true);
    expect(await headers(alice)).not.toBe(first);
    expect(authenticator.refused(alice, first)).toBe(true);
    expect(authenticator.refused(alice, await headers(alice))).toBe(false);
    expect(sts.seen).toHaveLength(2);
  });

  it('print no secret', async () => {
    const { headers, caller } = await world();
    expect(JSON.stringify(await headers(caller('alice')))).toBe('{}');
  });
});

describe('a refusal of the Security Token Service', () => {
  it.each([
    [400, 'ExpiredTokenException', 'reauthenticate'],
    [403, 'IDPRejectedClaim', 'reauthenticate'],
    [403, 'AccessDenied', 'forbidden'],
    [400, 'InvalidIdentityToken', 'misconfigured'],
    [400, 'ValidationError', 'misconfigured'],
    [403, 'RegionDisabledException', 'misconfigured'],
    [400, 'Throttling', 'unavailable'],
    [429, 'TooManyRequests', 'unavailable'],
    [400, 'IDPCommunicationError', 'unavailable'],
    [503, 'ServiceUnavailable', 'unavailable'],
  ])('%i %s is the fault %s', async (status, code, fault) => {
    const { sts, headers, caller } = await world();
    sts.answer = refuse(status, code);
    const error = await credentialError(() => headers(caller('alice')));
    expect(error).toMatchObject({ fault });
    expect(error.message).toContain(`${String(status)} ${code}`);
    expect(error.message).not.toMatch(/Text of AWS|alice-token/u);
  });

  it.each<[string, (good: string) => string]>([
    ['no XML', () => '{"Credentials":{}}'],
    ['another element', (good) => good.replaceAll('AssumeRoleWithWebIdentityResult', 'Other')],
    ['no session token', (good) => good.replace(/<SessionToken>.*<\/SessionToken>/u, '')],
    ['a line break in the key', (good) => good.replace('<AccessKeyId>', '<AccessKeyId>A&#10;B')],
    ['two keys', (good) => good.replace('<AccessKeyId>', '<AccessKeyId>A</AccessKeyId><AccessKeyId>')],
    ['expired credentials', (good) => good.replace(/<Expiration>[^<]*/u, '<Expiration>2020-01-01T00:00:00Z')],
    ['no date', (good) => good.replace(/<Expiration>[^<]*/u, '<Expiration>soon')],
  ])('is a reply with %s', async (_, change) => {
    const { sts, headers, caller, now } = await world();
    const secrets = { accessKeyId: 'ASIA1', secretAccessKey: 'hush', sessionToken: 't', expiresAt: now() + HOUR };
    sts.answer = (res) => res.end(change(assumedRole(secrets, arn('dev'))));
    const error = await credentialError(() => headers(caller('alice')));
    expect(error).toMatchObject({ fault: 'misconfigured' });
    expect(error.message).not.toContain('hush');
  });

  it('is not repeated for five seconds, except when a login can help', async () => {
    const { sts, headers, caller, advance, give } = await world();
    sts.answer = refuse(400, 'Throttling');
    for (let call = 0; call < 3; call += 1) await credentialError(() => headers(caller('alice')));
    expect(sts.seen).toHaveLength(1);
    sts.answer = refuse(400, 'ExpiredTokenException');
    for (let call = 0; call < 2; call += 1) await credentialError(() => headers(caller('bob')));
    expect(sts.seen).toHaveLength(3);
    sts.answer = give;
    advance(5_000);
    expect(await keyOf(await headers(caller('alice')))).toBe('ASIA4 aws-mcp');
  });

  it('is an outage when nothing listens', async () => {
    const { headers, caller } = await world({ sts_endpoint: 'http://127.0.0.1:1' });
    expect(await credentialError(() => headers(caller('alice')))).toMatchObject({ fault: 'unavailable' });
  });

  it('includes a redirect, which is not followed', async () => {
    const { sts, headers, caller } = await world();
    sts.answer = (res) => res.writeHead(307, { location: sts.url }).end();
    expect(await credentialError(() => headers(caller('alice')))).toMatchObject({ fault: 'misconfigured' });
    expect(sts.seen).toHaveLength(1);
  });
});
