import type { Scope } from '../scope.ts';
import type { VirtualMCPServer } from '../snapshot.ts';

export type AuthServerSpec = NonNullable<VirtualMCPServer['spec']['authServerConfig']>;

export const AUTH_SERVER_PATH = 'spec.authServerConfig';

/** Names in `authServerConfig.upstreamProviders`. */
export const upstreamNames = ({ vmcp }: Scope): string[] =>
  (vmcp.spec.authServerConfig?.upstreamProviders ?? []).map(({ name }) => name);
