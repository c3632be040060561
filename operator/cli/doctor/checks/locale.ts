import { ok, warn, type Check } from '../check.ts';

export const locale: Check = {
  name: 'locale',
  run: ({ env }) => {
    const chosen = [env['LC_ALL'], env['LC_CTYPE'], env['LANG']].find((value) => value !== undefined && value !== '');
    return /utf-?8/iu.test(chosen ?? '')
      ? ok(chosen ?? '')
      : warn(`${chosen ?? 'none is set'}: letters of other languages may look wrong: export LANG=C.UTF-8`);
  },
};
