import { describe, expect, it } from 'vitest';
import { readNewServer, type NewServer } from './new-server.ts';

const read = (server: Partial<NewServer>) =>
  readNewServer({ source: 'npx://x', args: [], env: [], secrets: [], headers: [], transport: undefined, ...server });

describe('readNewServer', () => {
  it.each([
    'npx://@acme/tool@1.0.0',
    'uvx://mcp-server-time==1.0',
    'ghcr.io/acme/server:1.0',
    'node:24',
    'localhost:5000/mcp:latest',
  ])('reads %s', (source) => {
    expect(read({ source, args: ['-v'] })).toEqual({
      server: { runs: 'here', image: source, transport: 'stdio', args: ['-v'], env: [], secrets: [] },
      warnings: [],
    });
  });

  it('puts variables that look like keys into the Secret', () => {
    const env = ['TZ=UTC', 'API_KEY=a=b', 'PLAIN=ghp_abcdef', 'EMPTY='];
    expect(read({ env, secrets: ['MODE=x', 'LATER'] })).toMatchObject({
      server: {
        env: [
          { name: 'TZ', value: 'UTC' },
          { name: 'EMPTY', value: '' },
        ],
        secrets: [
          { name: 'API_KEY', value: 'a=b' },
          { name: 'PLAIN', value: 'ghp_abcdef' },
          { name: 'MODE', value: 'x' },
          { name: 'LATER', missing: '' },
        ],
      },
    });
  });

  it('reads a URL with headers', () => {
    expect(read({ source: 'https://a.example/mcp', headers: ['Authorization=Bearer x='], transport: 'sse' })).toEqual({
      server: {
        runs: 'elsewhere',
        url: 'https://a.example/mcp',
        transport: 'sse',
        headers: [{ name: 'Authorization', value: 'Bearer x=' }],
      },
      warnings: [],
    });
  });

  it.each<[Partial<NewServer>, string]>([
    [{ source: 'go://x' }, '"go://x" is not a server'],
    [{ source: 'npx://' }, 'is not a server'],
    [{ source: '/usr/bin/server' }, 'is not a server'],
    [{ source: 'npx', args: ['-y', '@a/b@1', '/tmp'] }, '"npx" is a command, not a server: write npx://@a/b@1, and'],
    [{ source: 'uvx', args: ['mcp-server-time'] }, 'write uvx://mcp-server-time, and'],
    [{ source: 'docker', args: ['run', '-i', '--rm', 'acme/tool:1'] }, 'write acme/tool:1, and'],
    [{ source: 'npx', args: [] }, 'write npx://PACKAGE, uvx://PACKAGE or an image'],
    [{ source: 'node', args: ['dist/index.js'] }, 'write command://node, or node:latest for a container image'],
    [{ source: 'localhost:3000/mcp' }, 'write http://localhost:3000/mcp, or localhost:3000/mcp:latest'],
    [{ source: '127.0.0.1:8000/sse' }, 'write http://127.0.0.1:8000/sse, or'],
    [{ env: ['TZ'] }, '--env "TZ" has no value'],
    [{ headers: ['A=b'] }, '--header is for a URL'],
    [{ source: 'https://a.example', args: ['x'] }, 'a URL takes no arguments'],
    [{ source: 'https://a.example', env: ['A=b'] }, 'a URL takes no arguments'],
    [{ source: 'https://a.example', transport: 'stdio' }, 'streamable-http or sse'],
  ])('refuses %j', (server, reason) => {
    expect(read(server)).toEqual({ leftOut: expect.stringContaining(reason) });
  });
});
