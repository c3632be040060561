/** API group of the kinds of this project. */
export const API_GROUP = 'vmcp.dev';
export const API_VERSION = 'v1alpha1';

/** Returns the plural that the API server uses in paths: `MCPServerEntry` becomes `mcpserverentries`. */
export const pluralOf = (kind: string): string => `${kind.toLowerCase()}s`.replace(/ys$/u, 'ies');
