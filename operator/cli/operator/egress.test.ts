import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createAuthority } from '../../../gateway/outbound/testdata/authority.ts';
import { readEgress } from './operator-settings.ts';

/** Returns the way of the gateways, or the problems. */
function egressOf(env: Readonly<Record<string, string>>): unknown {
  const problems: string[] = [];
  const egress = readEgress(env, problems);
  return problems.length > 0 ? problems : egress;
}

/** Path of a file with this content, until the end of the test. */
function file(content: string): string {
  const dir = mkdtempSync(join(tmpdir(), 'vmcp-egress-'));
  onTestFinished(() => {
    rmSync(dir, { recursive: true });
  });
  writeFileSync(join(dir, 'ca.crt'), content);
  return join(dir, 'ca.crt');
}

it.each([
  [{}, undefined],
  [{ NO_PROXY: '.corp' }, undefined],
  [{ HTTPS_PROXY: 'proxy.corp:3128' }, { variables: { HTTPS_PROXY: 'http://proxy.corp:3128' } }],
  [
    { http_proxy: 'http://plain.corp', https_proxy: 'https://tls.corp:8443/', no_proxy: '.corp,10.0.0.0/8' },
    {
      variables: {
        HTTP_PROXY: 'http://plain.corp:80',
        HTTPS_PROXY: 'https://tls.corp:8443',
        NO_PROXY: '.corp,10.0.0.0/8',
      },
    },
  ],
  [
    { GATEWAY_PROXY_SECRET: 'corp', NO_PROXY: '.corp' },
    { variables: { NO_PROXY: '.corp' }, secret: 'corp' },
  ],
  [
    { GATEWAY_PROXY_SECRET: 'corp', HTTPS_PROXY: 'http://user:secret@proxy.corp:3128' },
    { variables: {}, secret: 'corp' },
  ],
])('hands %j on to the gateways', (env, expected) => {
  expect(egressOf(env as Record<string, string>)).toEqual(expected);
});

it('hands on the certificates of GATEWAY_CA_FILE', () => {
  const { cert } = createAuthority('corporation');
  const bundle = file(`# of the corporation\n${cert}`);
  expect(egressOf({ GATEWAY_CA_FILE: bundle })).toEqual({
    variables: {},
    ca: expect.stringContaining(cert.trim()) as unknown,
  });
});

it.each([
  [
    { HTTPS_PROXY: 'http://user:canary@proxy.corp:3128' },
    /^HTTPS_PROXY has a user name or password, which would be visible .* GATEWAY_PROXY_SECRET/u,
  ],
  [{ http_proxy: 'socks5://canary@proxy.corp' }, /^http_proxy is not the URL of an HTTP proxy/u],
  [{ GATEWAY_CA_FILE: '/nonexistent/ca.crt' }, /^GATEWAY_CA_FILE: \/nonexistent\/ca\.crt cannot be used: .*ENOENT/u],
])('reports %j, and prints no credential', (env, problem) => {
  const problems = egressOf(env);
  expect(problems).toEqual([expect.stringMatching(problem)]);
  expect(JSON.stringify(problems)).not.toContain('canary');
});

it('reports a bundle that is no certificate or too large for a ConfigMap', () => {
  const { cert } = createAuthority('corporation');
  expect(egressOf({ GATEWAY_CA_FILE: file('nothing') })).toEqual([expect.stringMatching(/holds no PEM certificate$/u)]);
  const large = file(cert.repeat(Math.ceil((256 * 1024) / cert.length) + 1));
  expect(egressOf({ GATEWAY_CA_FILE: large })).toEqual([expect.stringMatching(/is larger than 256 KiB/u)]);
});
