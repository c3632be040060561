import { KeyRefused } from '../../../gateway/authserver/keys/key-refused.ts';
import { secretOf } from '../../../gateway/authserver/keys/hmac-secrets.ts';
import { signingKeyOf } from '../../../gateway/authserver/keys/signing-key.ts';
import { bundleFault } from '../../resolve/ca-bundle.ts';

/** What a file or a Secret's key is used as by the embedded authorization server. */
export type Role = 'signing key' | 'HMAC secret' | 'credential' | 'CA bundle';

export interface Held {
  readonly role: Role;
  /** One character for each byte; undefined: nobody knows. */
  readonly content: string | undefined;
}

export interface Unusable<Item> {
  readonly item: Item;
  readonly reason: string;
  /** What is wrong, and what to do; quotes nothing of the content. */
  readonly message: string;
}

/** Contents with which a server would not start, or could never log anybody in. */
export function unusableContents<Item extends Held>(items: readonly Item[]): Unusable<Item>[] {
  const kids = new Set<string>();
  return items.flatMap((item): Unusable<Item>[] => {
    const fault = item.content === undefined ? undefined : faultOf(item.role, item.content, kids);
    return fault === undefined ? [] : [{ item, reason: REASONS[item.role], message: fault }];
  });
}

const REASONS: Readonly<Record<Role, string>> = {
  'signing key': 'InvalidKeyFile',
  'HMAC secret': 'InvalidKeyFile',
  credential: 'SecretEmpty',
  'CA bundle': 'CABundleRefInvalid',
};

/** `kids` are those of the signing keys before. */
function faultOf(role: Role, content: string, kids: Set<string>): string | undefined {
  switch (role) {
    case 'signing key':
      return refusal('openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256', () => {
        addKey(content, kids);
      });
    case 'HMAC secret':
      return refusal('openssl rand -base64 48', () => void secretOf(content, () => undefined));
    case 'credential':
      return content.trim() === '' ? 'it is empty: put the value there' : undefined;
    case 'CA bundle': {
      const fault = bundleFault(content);
      return fault === undefined ? undefined : `it holds ${fault}: put the CA's certificate there`;
    }
  }
}

function addKey(pem: string, kids: Set<string>): void {
  const { kid } = signingKeyOf(pem);
  if (kids.has(kid)) throw new KeyRefused('it is the same key as one above: remove it, or put another one there');
  kids.add(kid);
}

/** `maker` is a command that makes what can be used. */
function refusal(maker: string, use: () => void): string | undefined {
  try {
    use();
    return undefined;
  } catch (error) {
    if (error instanceof KeyRefused) return `${error.message} ("${maker}" makes one)`;
    throw error;
  }
}
