/** Scheme of the files of skills. Every server has its own names, so their URIs always get the name of the backend. */
export const SKILL_SCHEME = 'skill://';

/** Scheme of the resources of MCP Apps. */
export const APP_SCHEME = 'ui://';

/** Returns the first segment of the advertised URIs of a backend. */
export const segmentOf = (backend: string): string => encodeURIComponent(backend);

/** Returns the offset behind the scheme of a URI, or of a URI template that begins with one. */
const afterScheme = (uri: string): number => uri.indexOf('://') + 3;

/** Returns the first segment after the scheme. */
export function firstSegment(uri: string): string {
  const start = afterScheme(uri);
  const end = uri.indexOf('/', start);
  return end === -1 ? uri.slice(start) : uri.slice(start, end);
}

/** Returns a URI, or a URI template, with the name of its backend as the first segment. */
export function prefixedUri(backend: string, uri: string): string {
  const start = afterScheme(uri);
  return `${uri.slice(0, start)}${segmentOf(backend)}/${uri.slice(start)}`;
}

/** Returns the URI at the backend of a prefixed one; undefined for a URI without the prefix. */
export function ownUri(backend: string, uri: string): string | undefined {
  const start = afterScheme(uri);
  const prefix = `${segmentOf(backend)}/`;
  return uri.startsWith(prefix, start) ? uri.slice(0, start) + uri.slice(start + prefix.length) : undefined;
}

/** Returns the advertised URI of one at a backend. */
export type Advertise = (uri: string) => string;

/** Returns the names of a backend's URIs, of which those of one scheme are prefixed. */
export const prefixing =
  (backend: string, scheme: string): Advertise =>
  (uri) =>
    uri.startsWith(scheme) ? prefixedUri(backend, uri) : uri;

/** Returns the names of the URIs in a reply of a renamed route: those of its scheme are prefixed. */
export const namesAt = ({ backend, name }: { readonly backend: string; readonly name: string }): Advertise =>
  prefixing(backend, name.slice(0, afterScheme(name)));
