/** Prefix of the names of internal secrets. */
const RESERVED_PREFIX = '__sys_';

/** Parts of vmcp that store internal secrets. */
export type SystemScope = 'registry' | 'workloads' | 'auth';

/** Returns true for names that the API neither shows nor changes. */
export const isReserved = (name: string): boolean => name.startsWith(RESERVED_PREFIX);

export const systemName = (scope: SystemScope, name: string): string => `${RESERVED_PREFIX}${scope}_${name}`;
