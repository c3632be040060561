import { readClientKey, KeyRefused } from '../../../gateway/private-keys/private-key.ts';
import { readClientSecret, readHmacSecret } from '../../../gateway/authserver/keys/secrets.ts';
import { readSigningKey } from '../../../gateway/authserver/keys/signing-keys.ts';
import { bundleFault } from '../../resolve/ca-bundle.ts';

/** Use of a file or of a Secret's key. */
export type Role = 'signing key' | 'HMAC secret' | 'client secret' | 'client key' | 'credential' | 'CA bundle';

export interface Held {
  readonly role: Role;
  /** Content with one character per byte; undefined when it is not known. */
  readonly content: string | undefined;
  /** Configured algorithm of a client key. */
  readonly algorithm?: string | undefined;
}

export interface Unusable<Item> {
  readonly item: Item;
  readonly reason: string;
  /** Fault and advice, without any of the content. */
  readonly message: string;
}

/** Lists contents with which the gateway would not start, no login would succeed, or no assertion could be signed. */
export function unusableContents<Item extends Held>(items: readonly Item[]): Unusable<Item>[] {
  const kids = new Set<string>();
  return items.flatMap((item): Unusable<Item>[] => {
    const fault = item.content === undefined ? undefined : faultOf(item, item.content, kids);
    return fault === undefined ? [] : [{ item, reason: REASONS[item.role], message: fault }];
  });
}

const REASONS: Readonly<Record<Role, string>> = {
  'signing key': 'InvalidKeyFile',
  'HMAC secret': 'InvalidKeyFile',
  'client secret': 'InvalidKeyFile',
  'client key': 'InvalidKeyFile',
  credential: 'SecretEmpty',
  'CA bundle': 'CABundleRefInvalid',
};

/** Returns the fault of a content. `kids` are the ids of the previous signing keys. */
function faultOf({ role, algorithm }: Held, content: string, kids: Set<string>): string | undefined {
  switch (role) {
    case 'signing key':
      return refusal('openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256', () => {
        addKey(content, kids);
      });
    case 'HMAC secret':
      return refusal('openssl rand -base64 48', () => void readHmacSecret(content, () => undefined));
    case 'client secret':
      return refusal('openssl rand -base64 48', () => void readClientSecret(content));
    case 'client key':
      return refusal('openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256', () => {
        readClientKey(content, algorithm);
      });
    case 'credential':
      return content.trim() === '' ? 'it is empty: add the value' : undefined;
    case 'CA bundle': {
      const fault = bundleFault(content);
      return fault === undefined ? undefined : `it contains ${fault}: put the CA's certificate there`;
    }
  }
}

function addKey(pem: string, kids: Set<string>): void {
  const { kid } = readSigningKey(pem);
  if (kids.has(kid)) throw new KeyRefused('the same key is already listed: remove it, or use another key');
  kids.add(kid);
}

/** Returns the message when `use` rejects a key. `generator` is a command that generates a valid one. */
function refusal(generator: string, use: () => void): string | undefined {
  try {
    use();
    return undefined;
  } catch (error) {
    if (error instanceof KeyRefused) return `${error.message} (generate one with "${generator}")`;
    throw error;
  }
}
