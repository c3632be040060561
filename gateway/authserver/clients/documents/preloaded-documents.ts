import { invalid, type Problem } from '../../../contract/problem.ts';
import type { Client } from '../../storage/records.ts';
import { readMetadata, type MetadataRules } from '../metadata/client-metadata.ts';
import { checkPattern, checkRedirectUri } from '../metadata/redirect-uri.ts';
import { checkClientIdUrl, matchesClient, type HostPolicy } from './client-id-url.ts';

/** Description of clients that the operator gives in place of their documents. */
export interface PreloadedDocument {
  /** Client id, or a pattern for several. */
  readonly clientId: string;
  readonly clientName: string;
  /** `*` in the path of a loopback address stands for one segment. */
  readonly redirectUris: readonly string[];
}

/** Returns the client with this id, described by the first entry that matches it. */
export function preloadedClient(
  clientId: string,
  documents: readonly PreloadedDocument[],
  { hosts, metadata: rules }: { readonly hosts: HostPolicy; readonly metadata: MetadataRules },
  now: number,
): Client | undefined {
  if (checkClientIdUrl(clientId, hosts) !== undefined) return undefined;
  const found = documents.find((one) => matchesClient(one.clientId, clientId));
  const reading = found && readMetadata(membersOf(found), rules, 'document');
  if (!found || reading?.ok !== true) return undefined;
  const metadata = { ...reading.metadata, redirect_uris: found.redirectUris };
  return { client_id: clientId, source: 'document', metadata, issuedAt: now };
}

const membersOf = ({ clientName, redirectUris }: PreloadedDocument): ReadonlyMap<string, unknown> =>
  new Map<string, unknown>([
    ['client_name', clientName],
    ['redirect_uris', redirectUris.map(example)],
  ]);

/** Returns a text that the pattern matches. */
const example = (pattern: string): string => pattern.replaceAll('*', 'x');

/** Lists the problems of an entry. Paths start at the entry. */
export function preloadedProblems({ clientId, clientName, redirectUris }: PreloadedDocument): Problem[] {
  const rules = { loopback: true, privateUse: false, privateAddresses: false };
  const id = checkClientIdUrl(example(clientId), { allowedHosts: [], deniedHosts: [], allowLoopbackHttp: true });
  const isHostFixed = !/^[^:]+:\/\/[^/]*\*/u.test(clientId);
  return [
    ...(id === undefined && isHostFixed
      ? []
      : [invalid('client_id', id === undefined ? 'has a * in its host: write it in the path only' : id)]),
    ...(clientName.trim() === '' ? [invalid('client_name', 'is shown to users: write a name')] : []),
    ...(redirectUris.length === 0 ? [invalid('redirect_uris', 'write at least one')] : []),
    ...redirectUris.flatMap((uri, index) => {
      const found = uri.includes('*') ? checkPattern(uri) : checkRedirectUri(uri, rules);
      return found === undefined ? [] : [invalid(`redirect_uris[${String(index)}]`, found)];
    }),
  ];
}
