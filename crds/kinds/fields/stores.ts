import { Type } from 'typebox';
import { STORES, storeFacts } from '../../../gateway/authserver/storage/index.ts';
import { storeTls, storeTlsRule } from '../../../gateway/authserver/storage/kvstore.ts';
import { block, text, whole } from '../../../gateway/contract/optional.ts';
import { secretKeyRef } from '../../../gateway/contract/references.ts';
import { at, rule, type Rule } from '../../../gateway/contract/rule.ts';
import { variantMembers, variantRules } from './variants.ts';

interface Named {
  readonly type: string;
  readonly aliases?: readonly string[];
}

/** Returns the type of a store and its aliases. */
const namesOf = ({ type, aliases = [] }: Named): string[] => [type, ...aliases];

/** Returns a CEL expression that is true when the member has one of these values. */
const oneOf = (member: string, names: readonly string[]): string =>
  `self.${member} in [${names.map((name) => `'${name}'`).join(', ')}]`;

const describe = ({ type, aliases = [], description }: Named & { readonly description: string }): string =>
  [`\`${type}\`: ${description}`, ...aliases.map((alias) => `\`${alias}\` is an alias of \`${type}\`.`)].join(' ');

/** Enum of the store types and their aliases. */
const storeType = (options: object = {}) =>
  Type.Enum(STORES.flatMap(namesOf), { ...options, description: STORES.map(describe).join(' ') });

/** Store of MCP sessions. */
export const sessionStorage = (description: string) =>
  block(description, {
    provider: storeType(),
    address: text('Address of the store, `host:port`.', { minLength: 1, maxLength: 512 }),
    db: whole('Database number.', { default: 0, minimum: 0, maximum: 2147483647, format: 'int32' }),
    keyPrefix: text('Prefix of every key. Must end with `:` and contain no braces.', {
      maxLength: 253,
      pattern: '^[^{}\\s]*:$',
    }),
    passwordRef: secretKeyRef(
      'Password of the store. Without it the gateway reads the variable `VMCP_SESSION_KVSTORE_PASSWORD` of its environment.',
    ),
    tls: storeTls('TLS for connections to the store. `{}` trusts the system roots. No TLS when absent.'),
  });

interface Storage {
  readonly provider: string;
  readonly address?: string;
  readonly tls?: unknown;
}

/** Stores outside the gateway. They have an address. */
const REMOTE = STORES.filter(({ isShared }) => isShared);
const isRemote = oneOf('provider', REMOTE.flatMap(namesOf));
const remoteTypes = REMOTE.map(({ type }) => type).join(' or ');

export const sessionStorageRules = (path: string): Rule[] =>
  at(path, [
    rule<Storage>('', {
      field: 'address',
      rule: `!(${isRemote}) || has(self.address)`,
      message: `address is required when provider is ${remoteTypes}`,
      check: (self) => !storeFacts(self.provider).isShared || self.address !== undefined,
    }),
    rule<Storage>('', {
      field: 'tls',
      rule: `!has(self.tls) || ${isRemote}`,
      message: `set tls only if provider is ${remoteTypes}`,
      check: (self) => self.tls === undefined || storeFacts(self.provider).isShared,
    }),
    storeTlsRule('tls'),
  ]);

const [byDefault] = STORES;

/** `authServerConfig.storage`. */
export const storage = block('Storage of sessions, codes and upstream tokens.', {
  type: Type.Optional(storeType({ default: byDefault.type })),
  maxDCRClients: whole(
    'Registered clients above which the store keeps only clients with a login. Defaults to 10000; 0 means no limit.',
    {
      minimum: 0,
      maximum: 2147483647,
      format: 'int32',
    },
  ),
  ...variantMembers(STORES),
});

type Members = Readonly<Record<string, unknown>>;

/** Rules of `authServerConfig.storage`. */
export const storageRules: Rule[] = [
  ...STORES.filter(({ spec }) => spec).map((store) =>
    rule<Members & { readonly type: string }>('', {
      field: store.type,
      rule: `(${oneOf('type', namesOf(store))}) == has(self.${store.type})`,
      message: `set ${store.type} if and only if type is ${store.type}`,
      check: (self) => namesOf(store).includes(self.type) === (self[store.type] !== undefined),
    }),
  ),
  ...variantRules(STORES),
];
