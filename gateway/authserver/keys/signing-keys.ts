import { createLocalJWKSet, type JWK, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import { WatchedFile } from '../../outbound/watched-file.ts';
import { compactJws } from './compact-jws.ts';
import { FollowedFiles, type KeyLog } from './followed-files.ts';
import { inFile, KeyRefused } from './key-refused.ts';
import { newSigningKey, signingKeyOf, type SigningKey } from './signing-key.ts';

export interface SigningKeysOptions {
  /** The key that signs, then those that verify only. None: a key that dies with the process. */
  readonly files: readonly string[];
  readonly log: KeyLog;
  /** ms on a clock that only goes forward. */
  readonly now?: () => number;
}

/** What verifies the tokens of this server: the shape that boundary 1 takes for its keys. */
interface VerificationKeys {
  readonly find: JWTVerifyGetKey;
  readonly kids: ReadonlySet<string>;
}

/** The current signing key: one object for all tokens of a reply, so that they agree through a rotation. */
export interface Signer {
  readonly alg: string;
  /** A JWT in compact form; `typ` goes into its header. */
  sign(typ: string, claims: JWTPayload): Promise<string>;
}

interface KeyRing {
  readonly keys: readonly [SigningKey, ...SigningKey[]];
  readonly verification: VerificationKeys;
}

/**
 * The signing keys of the server. The first one signs; all verify and are published, so that a rotation loses no token:
 * add the new key at the end, put it first once the key set has spread, drop the old one when its tokens have expired.
 * Files are followed without a restart; a change that cannot be used leaves the keys as they were.
 */
export class SigningKeys {
  /** Every token dies with this process. */
  readonly ephemeral: boolean;
  readonly #ring: () => KeyRing;

  /** @throws KeyRefused, FileUnreadable */
  constructor({ files, log, now = () => performance.now() }: SigningKeysOptions) {
    this.ephemeral = files.length === 0;
    if (this.ephemeral) {
      log.warn('no signing key is configured: tokens are signed with a key of this process and die with it');
      const ring = ringOf([newSigningKey()]);
      this.#ring = () => ring;
      return;
    }
    const followed = new FollowedFiles({
      readers: files.map((file) => new WatchedFile(file, now)).map((watched) => () => watched.text()),
      build: (pems) => ringOf(pems.map((pem, index) => inFile(files[index] ?? '', () => signingKeyOf(pem)))),
      now,
      onFault: (fault) => {
        log.error('changed signing keys cannot be used; the old ones stay in force', { fault });
      },
    });
    this.#ring = () => followed.current();
  }

  /** Another object after every change of the keys. */
  get latest(): VerificationKeys {
    return this.#ring().verification;
  }

  current(): VerificationKeys {
    return this.latest;
  }

  /** Nothing is newer than what the files say. */
  renew(): VerificationKeys {
    return this.latest;
  }

  /** All public keys. @see RFC 7517 §5 */
  jwks(): { readonly keys: readonly JWK[] } {
    return { keys: this.#ring().keys.map(({ publicJwk }) => publicJwk) };
  }

  /** Of all keys, that of the signing one first. */
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
  if (kids.size < keys.length) throw new KeyRefused('two of the signing keys are the same key: remove one');
  const find = createLocalJWKSet({ keys: keys.map(({ publicJwk }) => publicJwk) });
  return { keys: [first, ...others], verification: { find, kids } };
}
