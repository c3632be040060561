import { describe, expect, it } from 'vitest';
import { runConfigProblems } from './problems.ts';
import { runConfigOf } from './run-config-of.ts';

const problemsOf = (url: string) => runConfigProblems(runConfigOf('a', { url }));

describe('the URL of a workload', () => {
  it.each([
    '169.254.169.254',
    '169.254.169.254.',
    '169.254.1.1',
    '2852039166',
    '0xa9fea9fe',
    '0xa9.0xfe.0xa9.0xfe',
    '0251.0376.0251.0376',
    '169.254.43518',
    '[::ffff:169.254.169.254]',
    '[::ffff:a9fe:a9fe]',
    '[64:ff9b::a9fe:a9fe]',
    '[2002:a9fe:a9fe::]',
    '[fe80::1]',
    '[fd00:ec2::254]',
    '100.100.100.200',
    '168.63.129.16',
    'metadata.google.internal',
    'METADATA.google.internal.',
    '0.0.0.0',
    '[::]',
    '224.0.0.1',
    '[ff02::1]',
    '255.255.255.255',
  ])('cannot have the host %s', (host) => {
    expect(problemsOf(`https://${host}/latest/meta-data/`)).toMatchObject([
      { reason: 'ForbiddenAddress', path: 'url', message: expect.stringContaining('never calls') as string },
    ]);
  });

  it.each(['https://mcp.example/mcp', 'https://10.0.0.1/mcp', 'http://127.0.0.1:80/mcp', 'https://[2606:4700::1]/mcp'])(
    'can be %s',
    (url) => {
      expect(problemsOf(url)).toEqual([]);
    },
  );

  it('needs https elsewhere, without advice that a workload cannot follow', () => {
    const [problem] = problemsOf('http://mcp.example/mcp');
    expect(problem).toMatchObject({ reason: 'InsecureUrl', path: 'url' });
    expect(problem?.message).toContain('use https');
    expect(problem?.message).not.toContain('insecure_allow_http');
    expect(problemsOf('https://user:word@mcp.example')[0]?.message).not.toContain('client_secret_file');
  });

  it('is checked for the authorization server, too', () => {
    const config = runConfigOf('a', { url: 'https://mcp.example/mcp' });
    const login = { issuer: 'https://169.254.169.254', token_url: 'https://[fe80::1]/token' };
    expect(runConfigProblems({ ...config, remote_auth_config: login }).map(({ path }) => path)).toEqual([
      'oauth_config.issuer',
      'oauth_config.token_url',
    ]);
  });
});
