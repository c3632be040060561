import { describe, expect, it } from 'vitest';
import { checkUrl, type UrlRules } from './addresses.ts';
import { type ObjectProblem, reportInto } from './scope.ts';

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

describe('checkUrl', () => {
  it.each([
    ['https://example.com/mcp', 'ok', 'ok'],
    ['http://example.com/mcp', 'InsecureUrl', 'InsecureUrl'],
    ['http://127.0.0.1:3000/mcp', 'ok', 'LoopbackAddress'],
    ['http://localhost:3000/mcp', 'ok', 'LoopbackAddress'],
    ['https://[::1]/mcp', 'ok', 'LoopbackAddress'],
    ['https://10.0.0.1/mcp', 'PrivateAddress', 'PrivateAddress'],
    ['https://169.254.169.254/', 'ForbiddenAddress', 'ForbiddenAddress'],
    ['https://[64:ff9b::a9fe:a9fe]/', 'ForbiddenAddress', 'ForbiddenAddress'],
    ['http://2130706433/', 'ok', 'LoopbackAddress'],
    ['https://kubernetes.default.svc/', 'ForbiddenAddress', 'ForbiddenAddress'],
    ['https://user:pass@example.com/', 'CredentialsInUrl', 'CredentialsInUrl'],
    ['https://example.com/#a', 'InvalidUrl', 'InvalidUrl'],
    ['ftp://example.com/', 'InvalidUrl', 'InvalidUrl'],
    ['https://', 'InvalidUrl', 'InvalidUrl'],
    ['example.com', 'InvalidUrl', 'InvalidUrl'],
  ])('%s: %s locally, %s in a cluster', (url, local, cluster) => {
    expect([verdict(url, 'local'), verdict(url, 'cluster')]).toEqual([local, cluster]);
  });

  it('allows private addresses and http by their flags, and nothing else', () => {
    const all = { allowPrivate: true, allowHttp: true };
    expect(verdict('http://10.0.0.1/', 'cluster', all)).toBe('ok');
    expect(verdict('http://10.0.0.1/', 'cluster', { allowPrivate: true })).toBe('InsecureUrl');
    expect(verdict('http://127.0.0.1/', 'cluster', all)).toBe('LoopbackAddress');
    expect(verdict('http://169.254.169.254/', 'local', all)).toBe('ForbiddenAddress');
  });
});
