import { describe, expect, it } from 'vitest';
import type { Backend, GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import { SCHEMA_VERSION } from '../../../gateway/contract/run-config/run-config.ts';
import { VMCP } from '../../../gateway/contract/testdata/vmcp-config.ts';
import { describeChanges, hasSameServers, type RunnableServer } from './running-servers.ts';

const files = (args: string[] = ['/a'], more: Partial<Backend> = {}): Backend => ({
  name: 'files',
  transport: 'stdio',
  process: { image: 'npx://files', args },
  ...more,
});
const time: Backend = { name: 'time', transport: 'streamable-http', url: 'http://127.0.0.1:1/mcp' };

const server = (backends: Backend[], vmcp: Partial<GatewayConfig['vmcp']> = {}, name = 'desk'): RunnableServer => ({
  namespace: 'default',
  name,
  mounts: [],
  excluded: [],
  config: { schema_version: SCHEMA_VERSION, name, vmcp: { ...VMCP, ...vmcp, backends } },
});

describe('describeChanges', () => {
  it.each<[string, RunnableServer[], RunnableServer[], string[]]>([
    ['nothing', [server([files()])], [server([files()])], []],
    ['an added backend', [server([files()])], [server([files(), time])], ['default/desk  +time']],
    ['a removed backend', [server([files(), time])], [server([files()])], ['default/desk  -time']],
    ['changed arguments', [server([files()])], [server([files(['/b'])])], ['default/desk  ~files: args']],
    [
      'several settings of a backend',
      [server([files()])],
      [server([files([], { transport: 'sse' })])],
      ['default/desk  ~files: args, transport'],
    ],
    [
      'a setting of the server beside those of backends',
      [server([files()])],
      [server([time], { incoming: { type: 'oidc' } })],
      ['default/desk  +time  -files  ~settings: incoming'],
    ],
    [
      'two servers, a line each',
      [server([], {}, 'a'), server([], {}, 'b'), server([], {}, 'c')],
      [server([time], {}, 'a'), server([], {}, 'b'), server([files()], {}, 'c')],
      ['default/a  +time', 'default/c  +files'],
    ],
    ['no server that is new or gone', [server([time], {}, 'a')], [server([time], {}, 'b')], []],
  ])('reports %s', (_, before, after, lines) => {
    expect(describeChanges(before, after)).toEqual(lines);
  });

  it('never prints a value', () => {
    const [before, after] = [server([files(['--key=canary-1'])]), server([files(['--key=canary-2'])])];
    expect(describeChanges([before], [after]).join()).not.toContain('canary');
  });
});

describe('hasSameServers', () => {
  it('compares the names of the servers', () => {
    expect(hasSameServers([server([files()])], [server([time])])).toBe(true);
    expect(hasSameServers([server([])], [])).toBe(false);
    expect(hasSameServers([server([], {}, 'a')], [server([], {}, 'b')])).toBe(false);
  });
});
