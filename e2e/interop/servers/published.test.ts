import { describe, expect, it } from 'vitest';
import { namedBy, publishedServer } from './published.ts';
import { SERVERS, type ServerEntry } from './registry.ts';

describe('a published configuration', () => {
  it.each([
    ['npx -y @scope/server@1.2.3 --stdio', 'npx://@scope/server@1.2.3', '1.2.3', undefined],
    ['npx -y server@1.2.3', 'npx://server@1.2.3', '1.2.3', undefined],
    ['uvx server==0.1.0a8 stdio', 'uvx://server==0.1.0a8', '0.1.0a8', undefined],
    ['uvx --from server==1.0 other-command', 'uvx://server==1.0', '1.0', 'other-command'],
  ])('%s names its package and version', (command, image, version, program) => {
    expect(namedBy({ command })).toEqual({ image, version, program });
  });

  it('gets the folder of the run in its arguments and variables', () => {
    const entry = { name: 'files', command: 'npx -y files@1.0.0 {folder}/a', env: { HOME: '{folder}' } };
    expect(publishedServer(entry, '/tmp/x')).toEqual({
      command: 'npx',
      args: ['-y', 'files@1.0.0', '/tmp/x/a'],
      env: { HOME: '/tmp/x' },
    });
  });
});

describe('the registry of servers', () => {
  it('pins a version in each entry', () => {
    expect(SERVERS.filter((entry) => namedBy(entry).version === '').map(({ name }) => name)).toEqual([]);
  });

  it('has each name once, in the form of an MCPServer', () => {
    const names = SERVERS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !/^[a-z][a-z\d-]*$/u.test(name))).toEqual([]);
  });

  it('demands no reason that any message about the package has', () => {
    const names = ({ name, command }: ServerEntry): string => `${name} ${command}`;
    const isVague = (entry: ServerEntry): boolean =>
      [entry.demands, entry.fault].some((pattern) => pattern?.test(names(entry)));
    expect(SERVERS.filter(isVague).map(({ name }) => name)).toEqual([]);
  });

  it('has the 60 servers that the table promises', () => {
    expect(SERVERS.length).toBeGreaterThanOrEqual(60);
  });
});
