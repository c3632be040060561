import { UpstreamError } from '../../../authserver/upstream/upstream-error.ts';
import { textsIn, type JsonObject } from '../../../contract/json.ts';
import type { Outbound } from '../../../outbound/fetch.ts';
import { fetchDocument, firstOf } from './document.ts';

/** Protected resource metadata of a remote server. @see RFC 9728 §2 */
export interface ProtectedResource {
  readonly resource: string;
  readonly authorizationServers: readonly string[];
  readonly scopes: readonly string[];
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource';
const WHAT = 'the request for the protected resource metadata';

/** Returns the metadata at the URL of the challenge, or at the well-known URLs. Rejects with `UpstreamError`. */
export async function protectedResource(
  remoteUrl: string,
  challenged: string | undefined,
  outbound: Outbound,
): Promise<ProtectedResource | undefined> {
  const document = await firstOf(challenged === undefined ? wellKnownUrls(remoteUrl) : [challenged], (url) =>
    fetchDocument(url, outbound, WHAT),
  );
  return document && resourceIn(document, remoteUrl);
}

/** RFC 9728 §3.1: the well-known path stands before the path of the resource. */
function wellKnownUrls(remoteUrl: string): readonly string[] {
  const { origin, pathname, search } = new URL(remoteUrl);
  const path = pathname === '/' ? '' : pathname;
  return [...new Set([`${origin}${WELL_KNOWN}${path}${search}`, `${origin}${WELL_KNOWN}`])];
}

/** RFC 9728 §3.3: metadata of another resource must not be used. */
function resourceIn(document: JsonObject, remoteUrl: string): ProtectedResource {
  const { resource } = document;
  if (typeof resource !== 'string' || !covers(resource, remoteUrl))
    throw new UpstreamError(
      'bad_reply',
      'the protected resource metadata belong to another resource than the remote URL',
    );
  return {
    resource,
    authorizationServers: (textsIn(document['authorization_servers']) ?? []).filter(isPlainUrl),
    scopes: textsIn(document['scopes_supported']) ?? [],
  };
}

/** Returns true when the path of the resource contains the remote URL. */
function covers(resource: string, remoteUrl: string): boolean {
  const [outer, inner] = [URL.parse(resource), new URL(remoteUrl)];
  if (outer?.origin !== inner.origin) return false;
  const path = outer.pathname.endsWith('/') ? outer.pathname : `${outer.pathname}/`;
  return `${inner.pathname}/`.startsWith(path);
}

/** Returns true for a URL that messages and logs can quote. */
export const isPlainUrl = (text: string): boolean => /^https?:\/\/[\x21-\x7E]{1,500}$/u.test(text);
