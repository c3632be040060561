import type { JsonObject } from '../../gateway/contract/json.ts';

export type NamedObject = JsonObject & { readonly name: string };
