/** Kinds of registries. */
export const SOURCE_TYPES = ['default', 'file', 'url', 'api'] as const;
export type SourceType = (typeof SOURCE_TYPES)[number];
