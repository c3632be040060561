import { ok, warn, type Check } from '../check.ts';

export const containerEngine: Check = {
  name: 'container engine',
  run: async ({ engineAnswers }) =>
    (await engineAnswers())
      ? ok('docker or podman responds')
      : warn('neither docker nor podman responds, so servers in container images cannot run: start one of them'),
};
