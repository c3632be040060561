import { describe, expect, it } from 'vitest';
import { endpointTable } from './endpoint-table.ts';

const tableFor = (address: string): string =>
  endpointTable({
    servers: [{ name: 'a', namespace: '', mcpUrl: 'http://127.0.0.1:4483/mcp', address, issuer: undefined }],
    managementUrl: 'http://127.0.0.1:8080',
  });

describe('endpointTable', () => {
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
