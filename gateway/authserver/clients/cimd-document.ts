import type { Client } from './client.ts';
import { readMetadata, type MetadataRules } from './client-metadata.ts';
import { parseJsonObject } from './json-object.ts';

export interface DocumentRules {
  readonly metadata: MetadataRules;
  /** https redirects to other hosts than the document's and those below it. */
  readonly allowCrossOriginRedirects: boolean;
}

export type DocumentReading =
  { readonly ok: true; readonly client: Client } | { readonly ok: false; readonly reason: string };

/**
 * The client that a document describes, the document having been served at `clientId`.
 * @see draft-ietf-oauth-client-id-metadata-document §4, contract/auth.md 3.5
 */
export function readClientDocument(clientId: string, body: string, rules: DocumentRules, now: number): DocumentReading {
  const members = parseJsonObject(body);
  if (members === undefined) return { ok: false, reason: 'the document is no JSON object' };
  if (members.get('client_id') !== clientId) return { ok: false, reason: 'the document names another client_id' };
  for (const name of ['client_secret', 'client_secret_expires_at']) {
    if (members.has(name)) return { ok: false, reason: `the document has ${name}: it is public` };
  }
  const reading = readMetadata(members, rules.metadata, 'document');
  if (!reading.ok) return { ok: false, reason: reading.problems.map(({ message }) => message).join('; ') };
  const { metadata } = reading;
  if (metadata.client_name === undefined) return { ok: false, reason: 'client_name is required' };
  if (!rules.allowCrossOriginRedirects && metadata.redirect_uris.some((uri) => isForeign(uri, clientId)))
    return { ok: false, reason: 'redirect_uris lead to another host than that of the document' };
  return { ok: true, client: { client_id: clientId, source: 'document', metadata, issuedAt: now } };
}

function isForeign(redirectUri: string, clientId: string): boolean {
  const [{ protocol, hostname }, own] = [new URL(redirectUri), new URL(clientId).hostname];
  return protocol === 'https:' && hostname !== own && !hostname.endsWith(`.${own}`);
}
