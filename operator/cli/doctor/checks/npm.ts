import { ok, warn, type Check } from '../check.ts';

export const npm: Check = {
  name: 'npm',
  run: ({ find }) => {
    const file = find('npm');
    return file === undefined
      ? warn('not on PATH, so npx:// servers cannot be installed: install Node.js with npm')
      : ok(file);
  },
};
