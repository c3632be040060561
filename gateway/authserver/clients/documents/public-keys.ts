import type { JWK } from 'jose';
import { readKeySet, type KeySet } from '../../../incoming/keys/key-set.ts';
import type { ClientKeySet } from '../../storage/records.ts';
import type { DocumentReading } from './fetched-documents.ts';
import { isObject, type JsonObject } from '../../../contract/json.ts';

interface PublicKeys {
  /** Public members of the keys. */
  readonly jwks: ClientKeySet;
  readonly set: KeySet;
}

const MAX_KEYS = 10;
/** Members of secret keys (RFC 7518 §6.2.2, §6.3.2, §6.4). */
const SECRET_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];
/** Members of public keys (RFC 7517 §4, RFC 7518 §6, RFC 8037 §2). */
const PUBLIC_MEMBERS = ['kty', 'kid', 'alg', 'use', 'key_ops', 'crv', 'x', 'y', 'n', 'e'];

/** Characters of a modulus of 8,192 bits and of an exponent of 48 bits. Each check of a signature costs more with longer ones. */
const MAX_RSA = { n: 1_368, e: 8 };

const isHuge = ({ n, e }: JsonObject): boolean =>
  (typeof n === 'string' && n.length > MAX_RSA.n) || (typeof e === 'string' && e.length > MAX_RSA.e);

/** Reads the keys that a client has published. Rejects a set with a secret key, since it is compromised. */
export async function readPublicKeys(document: unknown): Promise<DocumentReading<PublicKeys>> {
  const keys: unknown = isObject(document) ? document['keys'] : undefined;
  if (!Array.isArray(keys) || keys.length === 0 || keys.length > MAX_KEYS)
    return { ok: false, reason: `must be a key set of 1 to ${String(MAX_KEYS)} keys` };
  if (!keys.every(isObject)) return { ok: false, reason: 'has an entry that is not a key' };
  if (keys.some((key) => SECRET_MEMBERS.some((name) => Object.hasOwn(key, name))))
    return { ok: false, reason: 'has a secret key: create new keys' };
  if (keys.some(isHuge)) return { ok: false, reason: 'has an RSA key of more than 8192 bits, or with a long exponent' };
  const jwks: ClientKeySet = { keys: keys.map(publicPart) };
  try {
    return { ok: true, value: { jwks, set: await readKeySet(jwks) } };
  } catch {
    return { ok: false, reason: 'has no key for signatures' };
  }
}

/** Returns the public members. `kty` may have any value: `readKeySet` skips entries that are not keys. */
const publicPart = (key: JsonObject): JWK =>
  Object.fromEntries(Object.entries(key).filter(([name]) => PUBLIC_MEMBERS.includes(name)));
