import { describe, expect, it } from 'vitest';
import { endpointTable, startSummary, issuerPortLines, redirectUriLines } from './endpoints.ts';
import { given } from '../../../gateway/authserver/testdata/given-config.ts';

describe('endpoint table', () => {
  const server = { namespace: 'default', mcpUrl: 'http://127.0.0.1:4483/mcp', issuer: undefined };
  const tableOf = (...servers: readonly { name: string; address?: string; namespace?: string }[]): string =>
    endpointTable(
      {
        servers: servers.map((each) => ({ ...server, address: '127.0.0.1:4483', ...each })),
        managementUrl: 'http://127.0.0.1:8080',
      },
      (...args) => ['bin/vmcp', ...args].join(' '),
    );
  const tableFor = (address: string): string => tableOf({ name: 'a', address });

  describe('endpointTable', () => {
    it('prints the endpoint and commands to try', () => {
      expect(tableOf({ name: 'desk' })).toBe(`
NAME  MCP URL                    ISSUER  MANAGEMENT
desk  http://127.0.0.1:4483/mcp  -       http://127.0.0.1:8080

Connect a client:  bin/vmcp connect claude-code
List the tools:  bin/vmcp tools
See the servers:  bin/vmcp status
Stop with Ctrl-C.

`);
    });

    it('names the first of several virtual servers, with its namespace if the name is not unique', () => {
      expect(tableOf({ name: 'a' }, { name: 'b' })).toContain('bin/vmcp connect claude-code --name a\n');
      expect(tableOf({ name: 'a' }, { name: 'a', namespace: 'team' })).toContain('bin/vmcp tools --name default/a\n');
    });

    it.each(['0.0.0.0:4483', '[::]:4483', '192.0.2.1:4483'])(
      'warns about %s, which other machines can reach',
      (address) => {
        const table = tableFor(address);
        expect(table).toContain(`Other machines can connect: the gateway listens on ${address}.\n`);
        expect(table).toContain('use --host 127.0.0.1, or publish the port of a container as -p 127.0.0.1:PORT:PORT');
      },
    );

    it.each(['127.0.0.1:4483', '[::1]:4483', '127.0.0.2:4483'])('does not warn about %s', (address) => {
      expect(tableFor(address)).not.toContain('Other machines');
    });
  });

  it('counts servers, tools and seconds at the end of a start, and says where to see what failed', () => {
    const commandLine = (...args: readonly string[]): string => ['vmcp', ...args].join(' ');
    expect(startSummary({ servers: 2, ready: 2, tools: 22 }, 5, commandLine)).toBe('2 servers ready, 22 tools, 5 s.');
    expect(startSummary({ servers: 2, ready: 1, tools: 1 }, 5, commandLine)).toBe(
      '1 of 2 servers ready, 1 tool, 5 s. See why:  vmcp status',
    );
  });
});

const linesOf = (issuer: string, port: number): string[] => issuerPortLines([{ config: given({ issuer }), port }]);

describe('the port of an issuer on this machine', () => {
  it('is reported with advice when the gateway listens on another one', () => {
    const [line = '', ...others] = linesOf('http://127.0.0.1:4483', 4484);
    expect(others).toEqual([]);
    expect(line).toContain('desk listens on port 4484');
    expect(line).toContain('http://127.0.0.1:4483 sends browsers to port 4483');
    expect(line).toContain('--port 4483');
  });

  it.each(['http://localhost', 'http://localhost:4000/tenant', 'http://[::1]:4000', 'http://127.0.0.2:4000'])(
    'is reported for %s',
    (issuer) => {
      expect(linesOf(issuer, 4483)).toHaveLength(1);
    },
  );

  it.each([
    ['http://127.0.0.1:4483', 4483],
    ['http://localhost', 80],
    ['https://localhost:8443', 4483],
    ['https://desk.example', 4483],
    ['http://desk.example:9', 4483],
  ])('is not reported for %s at port %i', (issuer, port) => {
    expect(linesOf(issuer, port)).toEqual([]);
  });

  it('is checked only for an embedded authorization server', () => {
    const { embedded_auth_server_config: _, ...config } = given();
    const oidc_config = { issuer: 'http://127.0.0.1:4500', audience: 'desk' };
    expect(issuerPortLines([{ config: { ...config, oidc_config }, port: 4483 }])).toEqual([]);
  });
});

describe('redirect uris', () => {
  it('lists the redirect URI to register at each provider', () => {
    const upstreams = [
      { name: 'corp', oidc_config: {} },
      { name: 'git', oauth2_config: {} },
      { name: 'wiki', oidc_config: {} },
      { name: 'chat', oauth2_config: { redirect_uri: 'https://desk.example/chat' } },
    ];
    const uris = redirectUriLines([given({ issuer: 'https://desk.example', upstreams })]).map((line) =>
      line.replace(/^.*redirect URI /u, ''),
    );
    expect(uris).toEqual([
      'https://desk.example/oauth/callback',
      'https://desk.example/oauth/callback/git',
      'https://desk.example/oauth/callback/wiki, or https://desk.example/oauth/callback if its metadata advertises iss (RFC 9207)',
      'https://desk.example/chat',
    ]);
  });
});
