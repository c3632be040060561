import { describe, expect, it } from 'vitest';
import { checkAddress, checkOutboundUrl, policyFor, type OutboundPolicy } from './policy.ts';

const CLOSED: OutboundPolicy = { allowPrivate: false, allowLoopback: false, allowHttp: false };
const OPEN: OutboundPolicy = { allowPrivate: true, allowLoopback: true, allowHttp: true };
const verdict = (url: string, policy: OutboundPolicy): string => checkOutboundUrl(url, policy)?.reason ?? 'ok';

describe('policyFor', () => {
  it.each([
    ['http://127.0.0.1:9000/jwks', true],
    ['https://localhost/jwks', true],
    ['http://[::1]:1/', true],
    ['http://2130706433/', true],
    ['https://example.com/', false],
    ['https://localhost.example.com/', false],
    ['https://10.0.0.1/', false],
    ['no url', false],
  ])('allows loopback for %s: %s', (url, allowLoopback) => {
    expect(policyFor(url, {})).toEqual({ allowPrivate: false, allowLoopback, allowHttp: false });
  });

  it('copies both flags', () => {
    expect(policyFor(new URL('https://example.com'), { allowPrivateIPs: true, insecureAllowHTTP: true })).toEqual({
      allowPrivate: true,
      allowLoopback: false,
      allowHttp: true,
    });
  });
});

it('allowForbidden allows what no configuration can', () => {
  const any = { ...OPEN, allowForbidden: true };
  expect(verdict('http://169.254.169.254/', any)).toBe('ok');
  expect(checkAddress('169.254.169.254', 'metadata.test', any)).toBeUndefined();
});

describe('checkOutboundUrl', () => {
  it.each([
    ['https://example.com/', 'ok', 'ok'],
    ['http://example.com/', 'InsecureUrl', 'ok'],
    ['https://10.0.0.1/', 'PrivateAddress', 'ok'],
    ['http://10.0.0.1/', 'PrivateAddress', 'ok'],
    ['https://a.b.svc.cluster.local/', 'PrivateAddress', 'ok'],
    ['http://127.0.0.1/', 'LoopbackAddress', 'ok'],
    ['https://localhost/', 'LoopbackAddress', 'ok'],
    ['https://169.254.169.254/latest', 'ForbiddenAddress', 'ForbiddenAddress'],
    ['https://[fe80::1]/', 'ForbiddenAddress', 'ForbiddenAddress'],
    ['https://metadata.google.internal/', 'ForbiddenAddress', 'ForbiddenAddress'],
    ['https://kubernetes.default.svc/', 'ForbiddenAddress', 'ForbiddenAddress'],
    ['https://user@example.com/', 'CredentialsInUrl', 'CredentialsInUrl'],
    ['https://:pass@example.com/', 'CredentialsInUrl', 'CredentialsInUrl'],
    ['file:///etc/passwd', 'InvalidUrl', 'InvalidUrl'],
    ['gopher://example.com/', 'InvalidUrl', 'InvalidUrl'],
    ['example.com', 'InvalidUrl', 'InvalidUrl'],
    ['', 'InvalidUrl', 'InvalidUrl'],
  ])('checks %s: %s under a closed policy, %s under an open one', (url, closed, open) => {
    expect([verdict(url, CLOSED), verdict(url, OPEN)]).toEqual([closed, open]);
  });

  it('allows loopback URLs without allowHttp, but no private address and no other http URL', () => {
    const local = policyFor('http://127.0.0.1:1/', {});
    expect(verdict('http://localhost:2/', local)).toBe('ok');
    expect(verdict('http://10.0.0.1/', local)).toBe('PrivateAddress');
    expect(verdict('http://example.com/', local)).toBe('InsecureUrl');
  });

  it('allows the names of the API server when the policy permits them', () => {
    const cluster = { ...CLOSED, allowPrivate: true, allowApiServer: true };
    expect(verdict('https://kubernetes.default.svc/', cluster)).toBe('ok');
    expect(verdict('https://metadata.google.internal/', cluster)).toBe('ForbiddenAddress');
    expect(verdict('https://kubernetes.default.svc/', { ...CLOSED, allowApiServer: true })).toBe('PrivateAddress');
  });

  it('names the host in its message, but neither path nor query', () => {
    const { message } = checkOutboundUrl('https://10.0.0.1/secret-path?token=secret', CLOSED) ?? {};
    expect(message).toBe('"10.0.0.1" is a private address: set allowPrivateIPs to allow it');
  });
});

describe('checkAddress', () => {
  it.each([
    ['93.184.215.14', undefined],
    ['10.0.0.1', 'PrivateAddress'],
    ['127.0.0.1', 'LoopbackAddress'],
    ['64:ff9b::7f00:1', 'ForbiddenAddress'],
  ])('checks a public name that resolves to %s: %s', (address, reason) => {
    expect(checkAddress(address, 'example.com', CLOSED)?.reason).toBe(reason);
  });

  it('refuses a loopback name that resolves to another address under any policy', () => {
    expect(checkAddress('10.0.0.1', 'localhost', OPEN)?.reason).toBe('ForbiddenAddress');
    expect(checkAddress('93.184.215.14', 'api.localhost', OPEN)?.reason).toBe('ForbiddenAddress');
    expect(checkAddress('::1', 'localhost', OPEN)).toBeUndefined();
  });
});
