import { ok, warn, type Check, type Programs } from '../check.ts';

export const containerEngine: Check<Programs> = {
  name: 'container engine',
  run: async ({ respondingEngine }) => {
    const engine = await respondingEngine();
    return engine === undefined
      ? warn('neither docker nor podman responds, so servers in container images cannot run: start one of them')
      : ok(`${engine} responds`);
  },
};
