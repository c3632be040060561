import { Type } from 'typebox';
import { DnsLabel } from '../../../gateway/contract/fields.ts';

/** Optional name of an upstream provider. */
export const providerName = (description: string) => Type.Optional(DnsLabel(description));
