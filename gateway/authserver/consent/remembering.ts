import { hash } from 'node:crypto';
import { redirectTarget } from '../clients/metadata/redirect-uri.ts';
import type { ConsentMode } from '../settings.ts';

/** What somebody has agreed to. */
export interface Consent {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly resource: string;
}

/**
 * Who need not be asked, whatever their browser remembers: clients that the operator names, unless everybody is always
 * to be asked.
 */
export const isTrusted = (
  clientId: string,
  { mode, trustedClients }: { readonly mode: ConsentMode; readonly trustedClients: ReadonlySet<string> },
): boolean => mode !== 'always' && trustedClients.has(clientId);

/** The same for the same client, redirect host, set of scopes and resource; other for any other. */
export function consentKey({ clientId, redirectUri, scopes, resource }: Consent): string {
  const parts = [clientId, redirectHost(redirectUri), [...new Set(scopes)].toSorted(), resource];
  return hash('sha256', JSON.stringify(parts), 'base64url');
}

/** The same for the same client and redirect host, whatever it asks for. */
export const clientKey = ({ clientId, redirectUri }: Pick<Consent, 'clientId' | 'redirectUri'>): string =>
  hash('sha256', JSON.stringify([clientId, redirectHost(redirectUri)]), 'base64url');

/** Without the port: that of a loopback host changes with every sign-in. */
const redirectHost = (uri: string): string => {
  const { protocol, hostname } = new URL(uri);
  return `${protocol}//${hostname}`;
};

/** May a browser answer for its user the next time? Not for schemes that any app may claim. */
export const mayRemember = ({ redirectUri }: Pick<Consent, 'redirectUri'>, mode: ConsentMode): boolean =>
  mode === 'remember' && redirectTarget(redirectUri).kind !== 'private-use';
