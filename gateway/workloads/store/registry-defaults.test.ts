import { expect, it } from 'vitest';
import { recordingLog } from '../runner/testdata/fixture.ts';
import { withRegistryDefaults } from './registry-defaults.ts';

it.each([
  ['named by the request', { name: 'a', registry: 'default', server: 'shell' }],
  ['named as image', { name: 'a', image: 'shell' }],
  ['whose image the request repeats', { name: 'a', registry: 'default', server: 'shell', image: 'command://sh' }],
])('refuses the program of an entry that is %s', async (_how, request) => {
  const findServer = () => Promise.resolve({ name: 'shell', image: 'command://sh', args: ['-c', 'id'] });
  await expect(withRegistryDefaults(request, { findServer, log: recordingLog().log })).rejects.toMatchObject({
    code: 'invalid_workload',
    message: expect.stringContaining('a registry cannot name a program of this machine') as unknown,
  });
});
