/** A percent-encoded byte that needs no encoding (RFC 3986 section 2.3), or that is written in lower case (section 6.2.2.1). */
const NEEDLESS = /%(?:2[DE]|3\d|4[1-9A-F]|5[\dAF]|6[1-9A-F]|7[\dAE])|%(?:[a-f][\da-fA-F]|[\dA-F][a-f])/u;

/** Segments that backends resolve, also between encoded separators. @see RFC 3986 section 5.2.4 */
const DOT_SEGMENT = /(?:^|[/\\:]|%2F|%5C)\.{1,2}(?:[/\\?#]|%2F|%5C|$)/u;

/**
 * Returns true for a URI in the one spelling that URL parsers keep. Backends normalise URIs, so that another spelling could name
 * a resource whose own name a policy forbids. @see https://url.spec.whatwg.org/#url-serializing
 */
export const isCanonicalUri = (uri: string): boolean =>
  URL.parse(uri)?.href === uri && !NEEDLESS.test(uri) && !DOT_SEGMENT.test(uri.split(/[?#]/u, 1)[0] ?? '');
