import { describe, expect, it } from 'vitest';
import { endpointTable, startSummary } from './endpoint-table.ts';

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
