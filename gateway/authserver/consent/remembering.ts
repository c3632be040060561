import { createHash } from 'node:crypto';
import type { Client } from '../clients/client.ts';
import { redirectTarget } from '../clients/redirect-uri.ts';

/** What somebody has agreed to. */
export interface Consent {
  readonly client: Pick<Client, 'client_id' | 'source'>;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly resource: string;
}

/** The same for the same client, redirect host, set of scopes and resource; other for any other. */
export function consentKey({ client, redirectUri, scopes, resource }: Consent): string {
  const parts = [client.client_id, redirectHost(redirectUri), [...new Set(scopes)].toSorted(), resource];
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}

/** Without the port: that of a loopback host changes with every sign-in. */
const redirectHost = (uri: string): string => {
  const { protocol, hostname } = new URL(uri);
  return `${protocol}//${hostname}`;
};

/**
 * May a browser answer for its user the next time? Not for schemes that any app may claim; with `strict` not for
 * clients either that registered themselves and run on this machine, as every program here can pass for one.
 */
export function mayRemember({ client, redirectUri }: Consent, { strict }: { readonly strict: boolean }): boolean {
  switch (redirectTarget(redirectUri).kind) {
    case 'https':
      return true;
    case 'private-use':
      return false;
    case 'loopback':
      return !strict || client.source !== 'registered';
  }
}
