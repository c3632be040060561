import { join } from 'node:path';
import type { MissingValue } from '../../source/edit/secret-text.ts';
import { SECRETS_FILE } from '../../source/edit/folder-files.ts';
import type { LocatedProblem } from '../../source/files/located.ts';
import type { Io } from '../validate/problems-output.ts';

/** Prints the keys that the user must fill in before the servers start. */
export function printMissing(missing: readonly MissingValue[], dir: string, { stderr }: Io): void {
  for (const { secret, key, origin } of missing)
    stderr.write(`fill in ${join(dir, SECRETS_FILE)}: ${secret}/${key}${origin === '' ? '' : ` (${origin})`}\n`);
}

/** Returns true for the problem that a key is missing which `printMissing` has named. */
export const isMissingValue =
  (missing: readonly MissingValue[]) =>
  ({ reason, message }: LocatedProblem): boolean =>
    reason === 'SecretKeyNotFound' &&
    missing.some(({ secret, key }) => message.startsWith(`Secret "${secret}" has no key "${key}"`));
