import { hash } from 'node:crypto';
import { matchesClient } from '../clients/documents/client-id-url.ts';
import { redirectTarget } from '../clients/metadata/redirect-uri.ts';
import type { ConsentMode } from '../settings.ts';

/** Consent of a user. */
export interface Consent {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly resource: string;
}

/** Returns true for clients that the operator trusts: they skip the consent page unless `mode` is `always`. */
export const isTrusted = (
  clientId: string,
  { mode, trustedClients }: { readonly mode: ConsentMode; readonly trustedClients: ReadonlySet<string> },
): boolean => mode !== 'always' && [...trustedClients].some((entry) => matchesClient(entry, clientId));

/** Returns a key that is equal for equal clients, redirect hosts, sets of scopes and resources only. */
export function consentKey({ clientId, redirectUri, scopes, resource }: Consent): string {
  const parts = [clientId, redirectHost(redirectUri), [...new Set(scopes)].toSorted(), resource];
  return hash('sha256', JSON.stringify(parts), 'base64url');
}

/** Returns a key that is equal for equal clients and redirect hosts only. */
export const clientKey = ({ clientId, redirectUri }: Pick<Consent, 'clientId' | 'redirectUri'>): string =>
  hash('sha256', JSON.stringify([clientId, redirectHost(redirectUri)]), 'base64url');

/** Returns the host without its port, because the port of a loopback host changes with every login. */
const redirectHost = (uri: string): string => {
  const { protocol, hostname } = new URL(uri);
  return `${protocol}//${hostname}`;
};

/** Returns true if the consent may be remembered. Never for a private-use URI scheme, which any app may claim. */
export const mayRemember = ({ redirectUri }: Pick<Consent, 'redirectUri'>, mode: ConsentMode): boolean =>
  mode === 'remember' && redirectTarget(redirectUri).kind !== 'private-use';
