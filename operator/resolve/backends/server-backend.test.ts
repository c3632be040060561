import { describe, expect, it } from 'vitest';
import { checkImage, imageScheme } from './server-backend.ts';
import { type ObjectProblem, reportInto, type Platform } from '../scope.ts';

function verdict(image: string, facts: Partial<Platform>): string {
  const problems: ObjectProblem[] = [];
  const platform: Platform = { mode: 'local', secretsDir: '/s', configMapsDir: '/c', ...facts };
  checkImage(image, 'spec.image', platform, reportInto({ kind: 'MCPServer', namespace: 'n', name: 'x' }, problems, []));
  return problems.map(({ reason }) => reason).join() || 'ok';
}

describe('imageScheme', () => {
  it.each([
    ['npx://@modelcontextprotocol/server-everything', 'npx'],
    ['npx://server@1.2.3', 'npx'],
    ['npx://@scope/name@^2.0.0-rc.1', 'npx'],
    ['npx://name@latest', 'npx'],
    ['uvx://mcp-server-fetch', 'uvx'],
    ['uvx://mcp_server.fetch==2025.4.7', 'uvx'],
    ['uvx://mcp[cli]==1.2.3', 'uvx'],
    ['nginx', 'oci'],
    ['ghcr.io/owner/image:1.2', 'oci'],
    ['localhost:5000/a/b_c', 'oci'],
    [`registry.example.com/a@sha256:${'0'.repeat(64)}`, 'oci'],
    ['npx://', undefined],
    ['npx://Name With Space', undefined],
    ['npx://a; rm -rf /', undefined],
    ['npx://../x', undefined],
    ['npx://--flag', undefined],
    ['uvx://--flag', undefined],
    ['uvx://a>=1', undefined],
    ['go://example.com/x', undefined],
    ['https://example.com', undefined],
    ['Upper/Case', undefined],
    ['a:b:c', undefined],
    ['--privileged', undefined],
    ['-p8080:80/tcp', undefined],
    ['', undefined],
  ])('%s is %s', (image, scheme) => {
    expect(imageScheme(image)).toBe(scheme);
  });

  it('checks a long text quickly', () => {
    const started = performance.now();
    expect(imageScheme(`${'a-'.repeat(50_000)}!`)).toBeUndefined();
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});

describe('checkImage', () => {
  it.each([
    ['npx://a', { mode: 'local' }, 'ok'],
    ['npx://a', { mode: 'cluster' }, 'LocalImageInCluster'],
    ['uvx://a', { mode: 'cluster' }, 'LocalImageInCluster'],
    ['nginx', { mode: 'cluster' }, 'ok'],
    ['nginx', { mode: 'local' }, 'ok'],
    ['nginx', { mode: 'local', containerEngine: true }, 'ok'],
    ['nginx', { mode: 'local', containerEngine: false }, 'NoContainerEngine'],
    ['go://x', { mode: 'local' }, 'InvalidImageReference'],
  ] as const)('%s with %o: %s', (image, facts, expected) => {
    expect(verdict(image, facts)).toBe(expected);
  });
});
