import { describe, expect, it } from 'vitest';
import { checkUrl, classifyHost, type UrlRules } from './addresses.ts';
import type { ObjectProblem } from './problems.ts';
import { reportInto } from './scope.ts';

const rules = (mode: UrlRules['mode'], allow: Partial<UrlRules> = {}): UrlRules => ({
  mode,
  allowPrivate: false,
  allowHttp: false,
  privateFlag: 'spec.allowPrivateEndpoint',
  httpFlag: 'spec.insecureAllowHTTP',
  ...allow,
});

function verdict(url: string, mode: UrlRules['mode'], allow?: Partial<UrlRules>): string {
  const problems: ObjectProblem[] = [];
  checkUrl(
    url,
    'spec.remoteUrl',
    rules(mode, allow),
    reportInto({ kind: 'K', namespace: 'n', name: 'x' }, problems, []),
  );
  return problems.map(({ reason }) => reason).join() || 'ok';
}

describe('classifyHost', () => {
  it.each([
    ['127.0.0.1', 'loopback'],
    ['127.9.9.9', 'loopback'],
    ['[::1]', 'loopback'],
    ['[::ffff:127.0.0.1]', 'loopback'],
    ['localhost', 'loopback'],
    ['LOCALHOST.', 'loopback'],
    ['api.localhost', 'loopback'],
    ['10.0.0.1', 'private'],
    ['192.168.1.1', 'private'],
    ['172.31.0.1', 'private'],
    ['100.64.0.1', 'private'],
    ['[fd00::1]', 'private'],
    ['svc.ns.svc.cluster.local', 'private'],
    ['169.254.169.254', 'forbidden'],
    ['[fe80::1]', 'forbidden'],
    ['0.0.0.0', 'forbidden'],
    ['[::]', 'forbidden'],
    ['224.0.0.1', 'forbidden'],
    ['255.255.255.255', 'forbidden'],
    ['100.100.100.200', 'forbidden'],
    ['metadata.google.internal', 'forbidden'],
    ['kubernetes.default.svc', 'forbidden'],
    ['example.com', 'public'],
    ['93.184.215.14', 'public'],
    ['localhost.example.com', 'public'],
  ])('%s is %s', (host, expected) => {
    expect(classifyHost(host)).toBe(expected);
  });

  it.each(['http://2130706433/', 'http://0x7f.1/', 'http://017700000001/'])('sees through the spelling %s', (url) => {
    expect(classifyHost(new URL(url).hostname)).toBe('loopback');
  });
});

describe('checkUrl', () => {
  it.each([
    ['https://example.com/mcp', 'ok', 'ok'],
    ['http://example.com/mcp', 'InsecureUrl', 'InsecureUrl'],
    ['http://127.0.0.1:3000/mcp', 'ok', 'LoopbackAddress'],
    ['http://localhost:3000/mcp', 'ok', 'LoopbackAddress'],
    ['https://[::1]/mcp', 'ok', 'LoopbackAddress'],
    ['https://10.0.0.1/mcp', 'PrivateAddress', 'PrivateAddress'],
    ['https://169.254.169.254/', 'ForbiddenAddress', 'ForbiddenAddress'],
    ['https://user:pass@example.com/', 'CredentialsInUrl', 'CredentialsInUrl'],
    ['https://example.com/#a', 'InvalidUrl', 'InvalidUrl'],
    ['ftp://example.com/', 'InvalidUrl', 'InvalidUrl'],
    ['https://', 'InvalidUrl', 'InvalidUrl'],
    ['example.com', 'InvalidUrl', 'InvalidUrl'],
  ])('%s: %s locally, %s in a cluster', (url, local, cluster) => {
    expect([verdict(url, 'local'), verdict(url, 'cluster')]).toEqual([local, cluster]);
  });

  it('opens private addresses and http by their flags, and nothing else', () => {
    const all = { allowPrivate: true, allowHttp: true };
    expect(verdict('http://10.0.0.1/', 'cluster', all)).toBe('ok');
    expect(verdict('http://10.0.0.1/', 'cluster', { allowPrivate: true })).toBe('InsecureUrl');
    expect(verdict('http://127.0.0.1/', 'cluster', all)).toBe('LoopbackAddress');
    expect(verdict('http://169.254.169.254/', 'local', all)).toBe('ForbiddenAddress');
  });
});
