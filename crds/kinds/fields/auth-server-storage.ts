import { Type } from 'typebox';
import { STORES } from '../../../gateway/authserver/storage/index.ts';
import { block, whole } from '../../../gateway/contract/optional.ts';
import { rule, type Rule } from '../../../gateway/contract/rule.ts';
import { namesOf, oneOf, storeType } from './session-storage.ts';
import { variantMembers, variantRules } from './variants.ts';

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
