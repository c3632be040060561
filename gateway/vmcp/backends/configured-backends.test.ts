import { expect, it } from 'vitest';
import { VMCP } from '../../contract/testdata/vmcp-config.ts';
import { configuredBackends } from './configured-backends.ts';

it('gives a credential only to the backend that has one, also beside a backend with a name of Object.prototype', () => {
  const auth = { type: 'unauthenticated' };
  const names = ['first', 'constructor'];
  const vmcp = {
    ...VMCP,
    backends: names.map((name) => ({ name, transport: 'streamable-http' as const, url: 'http://127.0.0.1:9/mcp' })),
    outgoing_auth: { first: auth },
  };
  const found = configuredBackends({ schema_version: 'v0.1.0', name: 'front', vmcp });
  expect(found.map((backend) => [backend.config.name, backend.auth])).toEqual([
    ['first', auth],
    ['constructor', undefined],
  ]);
});
