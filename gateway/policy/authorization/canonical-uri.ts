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

/** Parts that no server receives, that backends decode twice, or that some take for dot segments. */
const UNUSUAL = /#|\?$|%00|%25(?:2[EeFf]|5[Cc])|\.\.;/u;

/** Dot segments of a path in a query or behind an encoded separator. */
const DOT_SEGMENT_IN_QUERY = /(?:[/\\:=&?]|%2F|%5C)\.{1,2}(?:[/\\&]|%2F|%5C|$)/u;

const FILE = 'file://';
/** Separators that a file system takes for one, or ignores. */
const EXTRA_SEPARATOR = /\/\/|%2F|%5C|\/$/u;

/**
 * Returns true for a canonical URI that backends read in one way only, as far as that can be known: a read through a template reaches
 * URIs that no list has, so a policy that forbids one of them must not miss its other spellings.
 */
export function isUnambiguousUri(uri: string): boolean {
  if (!isCanonicalUri(uri) || UNUSUAL.test(uri) || DOT_SEGMENT_IN_QUERY.test(uri)) return false;
  return !uri.startsWith(FILE) || !EXTRA_SEPARATOR.test(uri.slice(FILE.length));
}
