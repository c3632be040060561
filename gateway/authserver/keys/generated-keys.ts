import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../../contract/logger.ts';
import { RANDOM_BYTES } from '../core/opaque-token.ts';
import { readHmacSecret } from './secrets.ts';
import { newSigningPem, readSigningKey } from './signing-key.ts';
import { replaceFileSync } from '../../kit/files.ts';

interface Kind {
  readonly name: string;
  readonly create: () => string;
  /** Throws for a content that is no such key. */
  readonly check: (content: string) => unknown;
}

const KINDS = {
  signing: { name: 'signing-key.pem', create: newSigningPem, check: readSigningKey },
  hmac: {
    name: 'hmac-secret',
    create: () => randomBytes(RANDOM_BYTES).toString('base64url'),
    check: (content) => readHmacSecret(content, () => undefined),
  },
} as const satisfies Readonly<Record<string, Kind>>;

/**
 * Returns the file of a generated key in `folder`. Creates a missing file, and replaces an unusable file, such as a
 * truncated file. Throws the system's error if the file cannot be written.
 */
export function generatedKey(kind: keyof typeof KINDS, folder: string, log: Pick<Logger, 'warn'>): string {
  const { name, create, check }: Kind = KINDS[kind];
  const file = join(folder, name);
  try {
    check(readFileSync(file, 'latin1'));
    chmodSync(file, 0o600);
    return file;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      log.warn('a generated key is unusable and replaced: its tokens are invalid from now on', { file });
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  replaceFileSync(file, create());
  return file;
}
