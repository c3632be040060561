import type { MetadataRules } from '../metadata/client-metadata.ts';

export const METADATA_RULES: MetadataRules = {
  scopesSupported: ['openid', 'profile', 'email', 'offline_access', 'tools'],
  defaultScopes: ['openid', 'offline_access'],
  baselineScopes: [],
  allowConfidential: false,
  forceConfidentialRedirectUris: [],
  privateAddresses: false,
};
