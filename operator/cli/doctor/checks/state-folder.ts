import { fail, ok, type Check } from '../check.ts';

export const stateFolder: Check = {
  name: 'state folder',
  run: async ({ stateDir, writeFault }) => {
    const fault = await writeFault(stateDir);
    return fault === undefined
      ? ok(stateDir)
      : fail(`${stateDir} cannot be written (${fault}): change its permissions, or choose another folder with --state`);
  },
};
