import { createLocalJWKSet, type JWK, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import { WatchedFile } from '../../outbound/watched-file.ts';
import { FollowedFiles } from './followed-files.ts';
import { inFile, KeyRefused, algorithmOf, readPrivateKey } from '../../private-keys/private-key.ts';
import type { Logger } from '../../contract/logger.ts';
import { createHash, createPublicKey, generateKeyPairSync, sign as signAtOnce, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';

/** Private key with its public part. */
interface SigningKey {
  /** SHA-256 thumbprint. @see RFC 7638 */
  readonly kid: string;
  /** Signature algorithm, determined by the kind of key. @see RFC 7518 §3.1, RFC 8037 §3.1 */
  readonly alg: string;
  /**
   * Key with the option of node:crypto for ECDSA signatures in JWS, which concatenate the two numbers (RFC 7518 §3.4).
   * Wrapping the key for each call would cost as much as the signature.
   */
  readonly privateKey: KeyObject & { readonly dsaEncoding: 'ieee-p1363' };
  /** Entry of the published key set, with `kid`, `alg` and `use`. */
  readonly publicJwk: JWK;
}

/** Reads one unencrypted private key in PEM. @throws KeyRefused for other text, and for weak or unsupported keys. */
export function readSigningKey(pem: string): SigningKey {
  const privateKey = Object.assign(readPrivateKey(pem), { dsaEncoding: 'ieee-p1363' } as const);
  const alg = algorithmOf(privateKey);
  const publicJwk = createPublicKey(privateKey).export({ format: 'jwk' }) as JWK;
  const kid = thumbprint(publicJwk);
  return { kid, alg, privateKey, publicJwk: { ...publicJwk, kid, alg, use: 'sig' } };
}

export const newSigningKey = (): SigningKey => readSigningKey(newSigningPem());

/** Creates a key in PEM. */
export const newSigningPem = (): string => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
};

/** Members of the thumbprint, sorted by name. @see RFC 7638 §3.2, RFC 8037 §2 */
const THUMBPRINT_MEMBERS = {
  EC: ['crv', 'kty', 'x', 'y'],
  OKP: ['crv', 'kty', 'x'],
  RSA: ['e', 'kty', 'n'],
} as const;

function thumbprint(jwk: JWK): string {
  const members = THUMBPRINT_MEMBERS[jwk.kty as keyof typeof THUMBPRINT_MEMBERS];
  const essence = Object.fromEntries(members.map((member) => [member, jwk[member]]));
  return createHash('sha256').update(JSON.stringify(essence)).digest('base64url');
}

const signInThreadPool = promisify<string | null, Buffer, KeyObject, Buffer>(signAtOnce);

/** Digest per algorithm; absent when the algorithm includes its own hash. @see RFC 7518 §3.3, §3.4, RFC 8037 §3.1 */
const DIGESTS: Readonly<Record<string, string>> = {
  RS256: 'sha256',
  ES256: 'sha256',
  ES384: 'sha384',
  ES512: 'sha512',
};

/**
 * Signs a JWT in compact form (RFC 7515 §7.1) with node:crypto, at a third of the cost of Web Crypto. RSA signatures are
 * computed in another thread, since they would delay other requests.
 */
export async function compactJws({ alg, kid, privateKey }: SigningKey, typ: string, claims: object): Promise<string> {
  const signed = `${encoded({ alg, kid, typ })}.${encoded(claims)}`;
  const sign = alg === 'RS256' ? signInThreadPool : signAtOnce;
  const signature = await sign(DIGESTS[alg] ?? null, Buffer.from(signed), privateKey);
  return `${signed}.${signature.toString('base64url')}`;
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

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
