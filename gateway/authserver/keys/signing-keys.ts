import { createLocalJWKSet, type JWK, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import { WatchedFile } from '../../outbound/watched-file.ts';
import { compactJws, newSigningKey, readSigningKey, type SigningKey } from './signing-key.ts';
import { FollowedFiles } from './followed-files.ts';
import { inFile, KeyRefused } from '../../private-keys/private-key.ts';
import type { Logger } from '../../contract/logger.ts';

interface SigningKeysOptions {
  /** Files of the signing key and of keys that only verify. Empty: a key that ends with the process. */
  readonly files: readonly string[];
  readonly log: Pick<Logger, 'error' | 'warn'>;
  /** ms on a monotonic clock. */
  readonly now?: () => number;
}

/** Keys that verify the tokens of this server, in the form that the validator of client tokens expects. */
interface VerificationKeys {
  readonly find: JWTVerifyGetKey;
  readonly kids: ReadonlySet<string>;
}

/** Current signing key. All tokens of one response use the same signer, also during a rotation. */
interface Signer {
  readonly alg: string;
  /** Signs a JWT in compact form with this `typ` in its header. */
  sign(typ: string, claims: JWTPayload): Promise<string>;
}

interface KeyRing {
  readonly keys: readonly [SigningKey, ...SigningKey[]];
  readonly verification: VerificationKeys;
}

/**
 * Signing keys of the server. The first one signs; all verify and are published. To rotate without losing tokens, add the
 * new key at the end, move it to the front when clients have the new key set, and remove the old one when its tokens have
 * expired. Changed files take effect without a restart; an unusable change keeps the previous keys.
 */
export class SigningKeys {
  /** True when all tokens end with this process. */
  readonly ephemeral: boolean;
  readonly #ring: () => KeyRing;

  /** @throws KeyRefused, FileUnreadable */
  constructor({ files, log, now = () => performance.now() }: SigningKeysOptions) {
    this.ephemeral = files.length === 0;
    if (this.ephemeral) {
      log.warn('no signing key is configured: tokens are signed with a key of this process and end with it');
      const ring = ringOf([newSigningKey()]);
      this.#ring = () => ring;
      return;
    }
    const followed = new FollowedFiles({
      readers: files.map((file) => new WatchedFile(file, now)).map((watched) => () => watched.text()),
      build: (pems) => ringOf(pems.map((pem, index) => inFile(files[index] ?? '', () => readSigningKey(pem)))),
      now,
      onFault: (fault) => {
        log.error('changed signing keys are unusable; the previous ones stay active', { fault });
      },
    });
    this.#ring = () => followed.current();
  }

  /** Returns the keys; a new object after every change. */
  get latest(): VerificationKeys {
    return this.#ring().verification;
  }

  current(): VerificationKeys {
    return this.latest;
  }

  /** Returns the current keys, since the files are always up to date. */
  renew(): VerificationKeys {
    return this.latest;
  }

  /** Returns all public keys. @see RFC 7517 §5 */
  jwks(): { readonly keys: readonly JWK[] } {
    return { keys: this.#ring().keys.map(({ publicJwk }) => publicJwk) };
  }

  /** Returns the algorithms of all keys, that of the signing key first. */
  algorithms(): readonly string[] {
    return [...new Set(this.#ring().keys.map(({ alg }) => alg))];
  }

  signer(): Signer {
    const [key] = this.#ring().keys;
    return { alg: key.alg, sign: (typ, claims) => compactJws(key, typ, claims) };
  }
}

function ringOf(keys: readonly SigningKey[]): KeyRing {
  const [first, ...others] = keys;
  if (first === undefined) throw new KeyRefused('there is no signing key');
  const kids = new Set(keys.map(({ kid }) => kid));
  if (kids.size < keys.length) throw new KeyRefused('two signing keys are the same key: remove one');
  const find = createLocalJWKSet({ keys: keys.map(({ publicJwk }) => publicJwk) });
  return { keys: [first, ...others], verification: { find, kids } };
}
