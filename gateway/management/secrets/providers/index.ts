import { cluster } from './cluster.ts';
import { encrypted } from './encrypted.ts';
import { environment } from './environment.ts';
import { onePassword } from './one-password.ts';

/** Kinds of providers. A new provider is one file and one line here. */
export const PROVIDERS = [encrypted, onePassword, environment, cluster] as const;

export type ProviderType = (typeof PROVIDERS)[number]['type'];
