import { Type } from 'typebox';
import { DnsLabel } from '../../../gateway/contract/fields.ts';

/** The name of an upstream provider, where it may be absent. */
export const providerName = (description: string) => Type.Optional(DnsLabel(description));
