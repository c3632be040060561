import { ok, warn, type Check, type Programs } from '../check.ts';

export const npm: Check<Programs> = {
  name: 'npm',
  run: ({ find }) => {
    const file = find('npm');
    return file === undefined
      ? warn('npm is not on PATH, so npx:// servers cannot be installed: install Node.js with npm')
      : ok(file);
  },
};
