import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { FileUnreadable } from '../../outbound/watched-file.ts';
import { RANDOM_BYTES, type SecretRing } from '../core/opaque-token.ts';
import { FollowedFiles } from './followed-files.ts';
import { inFile, KeyRefused } from '../../private-keys/private-key.ts';
import type { Logger } from '../../contract/logger.ts';

interface HmacSecretsOptions {
  /** Files of the signing secret and of secrets that only verify. Empty: a secret that ends with the process. */
  readonly files: readonly string[];
  readonly log: Pick<Logger, 'error' | 'warn'>;
  /** ms on a monotonic clock. */
  readonly now?: () => number;
}

const MIN_BYTES = 32;
const FEW_VALUES = 8;

/** HMAC secrets for codes, refresh tokens, cookies and sealing. Changed files take effect without a restart. */
export class HmacSecrets {
  /** True when codes, refresh tokens and sealed records end with this process. */
  readonly ephemeral: boolean;
  readonly #ring: () => SecretRing;

  /** @throws KeyRefused, FileUnreadable */
  constructor({ files, log, now = () => performance.now() }: HmacSecretsOptions) {
    this.ephemeral = files.length === 0;
    if (this.ephemeral) {
      log.warn('no HMAC secret is configured: codes and refresh tokens end with this process');
      const ring: SecretRing = [new Uint8Array(randomBytes(RANDOM_BYTES))];
      this.#ring = () => ring;
      return;
    }
    const followed = new FollowedFiles({
      readers: files.map((file) => () => bytesOf(file)),
      build: (contents) => ringOf(files, contents, log),
      now,
      onFault: (fault) => {
        log.error('changed HMAC secrets are unusable; the previous ones stay active', { fault });
      },
    });
    this.#ring = () => followed.current();
  }

  /** Returns the secrets; a new array after every change. */
  ring(): SecretRing {
    return this.#ring();
  }
}

/** Reads a file with one character per byte, since a secret may be binary. */
function bytesOf(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch (error) {
    throw new FileUnreadable(file, error);
  }
}

function ringOf(
  files: readonly string[],
  contents: readonly string[],
  log: Pick<Logger, 'error' | 'warn'>,
): SecretRing {
  const [current, ...older] = contents.map((content, index) => {
    const file = files[index] ?? '';
    return inFile(file, () => readHmacSecret(content, (message) => log.warn(message, { file })));
  });
  if (current === undefined) throw new KeyRefused('there is no HMAC secret');
  return [current, ...older];
}

/** Returns the bytes of a secret, without one trailing line break. Throws `KeyRefused`. */
export function readHmacSecret(content: string, warn: (message: string) => void): Uint8Array {
  const trimmed = content.replace(/\r?\n$/, '');
  if (trimmed !== content) warn('one line break at the end of an HMAC secret is not part of it');
  const secret = new Uint8Array(Buffer.from(trimmed, 'latin1'));
  if (secret.length < MIN_BYTES)
    throw new KeyRefused(`the secret has ${secret.length} bytes: use at least ${MIN_BYTES} random bytes`);
  const values = new Set(secret).size;
  if (values === 1) throw new KeyRefused('all bytes of the secret are the same: use random bytes');
  if (values < FEW_VALUES) warn('an HMAC secret looks easy to guess: use random bytes');
  return secret;
}

const MIN_CHARS = 32;

/** Returns the client secret in a file of a delegate client, without white space around it. Throws `KeyRefused`. */
export function readClientSecret(content: string): string {
  const secret = content.trim();
  if (secret.length >= MIN_CHARS) return secret;
  const message = `the client secret has ${String(secret.length)} characters: use at least ${String(MIN_CHARS)} random ones`;
  throw new KeyRefused(message);
}
