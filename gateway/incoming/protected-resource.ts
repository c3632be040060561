import type { RequestHandler } from 'express';
import { RESOURCE_METADATA, resourceMetadataPath } from '../contract/paths/public-paths.ts';

/** Protected resource metadata of this server. @see RFC 9728 §2 */
export interface ProtectedResource {
  /** The configured resource URL, byte for byte. */
  readonly resource: string;
  /** Returns the accepted issuer. Called for each request, because it may become known after start. */
  readonly issuer: () => string | undefined;
  readonly scopes: readonly string[];
  readonly name: string | undefined;
}

const MAX_AGE_S = 86_400;

/** Returns the URL of the metadata of a resource. */
export const metadataUrlOf = (resource: string): string => new URL(resource).origin + resourceMetadataPath(resource);

/**
 * Returns the resource with a slash more or less at the end of its path. Both reach the same server, and a client compares the
 * one that it calls with the metadata. Returns undefined for an origin. @see RFC 9728 §3.3
 */
export function otherSpelling(resource: string): string | undefined {
  const { origin, pathname, search } = new URL(resource);
  if (pathname === '/' || search !== '') return undefined;
  return origin + (pathname.endsWith('/') ? pathname.slice(0, -1) : `${pathname}/`);
}

function documentOf({ resource, issuer, scopes, name }: ProtectedResource): string {
  const server = issuer();
  return JSON.stringify({
    resource,
    ...(server !== undefined && { authorization_servers: [server] }),
    bearer_methods_supported: ['header'],
    ...(scopes.length > 0 && { scopes_supported: scopes }),
    ...(name !== undefined && { resource_name: name }),
  });
}

export interface MetadataOptions {
  /**
   * Returns true when the well-known path without a suffix also means this resource: while it is the only one at its
   * origin. Called for each request.
   */
  readonly rootAlias: () => boolean;
}

/**
 * Serves the well-known path and passes on other requests. The document is public, so any web page may read it;
 * it holds nothing from the request.
 */
export function protectedResourceMetadata(
  described: ProtectedResource | undefined,
  { rootAlias }: MetadataOptions = { rootAlias: () => true },
): RequestHandler {
  const own = described && resourceMetadataPath(described.resource).split('?', 1).join('');
  const other = described && otherSpelling(described.resource);
  const otherPath = other === undefined ? undefined : new URL(metadataUrlOf(other)).pathname;
  return (req, res, next) => {
    if (!req.path.startsWith(RESOURCE_METADATA)) {
      next();
      return;
    }
    res.setHeader('access-control-allow-origin', '*');
    const isOther = req.path === otherPath;
    if (!described || (req.path !== own && !isOther && !(req.path === RESOURCE_METADATA && rootAlias()))) {
      res.status(404).json({ error: 'not_found' });
      return;
    }
    switch (req.method) {
      case 'GET':
      case 'HEAD':
        res.setHeader('cache-control', described.issuer() === undefined ? 'no-store' : 'public, max-age=3600');
        res
          .type('application/json')
          .send(documentOf(isOther && other !== undefined ? { ...described, resource: other } : described));
        return;
      case 'OPTIONS':
        res.setHeader('access-control-allow-methods', 'GET, OPTIONS');
        res.setHeader('access-control-allow-headers', 'mcp-protocol-version, content-type, authorization');
        res.setHeader('access-control-max-age', String(MAX_AGE_S));
        res.status(204).end();
        return;
      default:
        res.setHeader('allow', 'GET, HEAD, OPTIONS');
        res.status(405).json({ error: 'method_not_allowed', message: 'use GET, HEAD or OPTIONS' });
    }
  };
}
