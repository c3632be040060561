import { expect, it } from 'vitest';
import { SCHEMA_VERSION, type RunConfig } from '../../contract/run-config/run-config.ts';
import { clientUrlOf } from './status.ts';

it.each<[Partial<RunConfig>, number, string]>([
  [{ transport: 'stdio' }, 0, ''],
  [{ transport: 'stdio' }, 4000, 'http://127.0.0.1:4000/mcp'],
  [{ transport: 'stdio', proxy_mode: 'sse', name: 'a.b' }, 4000, 'http://127.0.0.1:4000/sse#a.b'],
  [{ transport: 'sse', proxy_mode: 'streamable-http', name: 'a' }, 4000, 'http://127.0.0.1:4000/sse#a'],
  [{ transport: 'streamable-http', proxy_mode: 'sse' }, 4000, 'http://127.0.0.1:4000/mcp'],
  [{ host: '0.0.0.0' }, 4000, 'http://127.0.0.1:4000/mcp'],
  [{ host: '::' }, 4000, 'http://127.0.0.1:4000/mcp'],
  [{ host: '::1' }, 4000, 'http://[::1]:4000/mcp'],
  [{ host: '192.0.2.1' }, 4000, 'http://192.0.2.1:4000/mcp'],
  [
    { transport: 'streamable-http', remote_url: 'https://r.example/mcp?tenant=1' },
    4000,
    'http://127.0.0.1:4000/mcp?tenant=1',
  ],
])('clients reach %j on port %j at %j', (config, port, url) => {
  expect(clientUrlOf({ schema_version: SCHEMA_VERSION, ...config }, port)).toBe(url);
});
