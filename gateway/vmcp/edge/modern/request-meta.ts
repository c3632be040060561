import { readString, type ParamsSurface } from '../../../http/json-scan.ts';
import { isObjectSpan, readKey, visitMembers, type Span } from '../../../http/json-walk.ts';
import { META } from '../../../contract/protocol/revisions.ts';

const PREFIX = 'io.modelcontextprotocol/';

/** `params._meta` of a request, with the members that describe the request itself. Spans are offsets in `text`. */
export interface RequestMeta {
  readonly text: Buffer;
  readonly version: Span | undefined;
  /** Revision that the request claims; undefined if it is no string. */
  readonly claimed: string | undefined;
  readonly client: Span | undefined;
  readonly capabilities: Span | undefined;
  readonly logLevel: Span | undefined;
  /** JSON text without these members, for backends. */
  readonly forBackend: Buffer;
  /** A member of the request that occurs twice. */
  readonly repeated: string | undefined;
}

/** Texts that clients send with each request, which need not be read again. */
const KNOWN = new Map<string, RequestMeta>();
/** The last of them, which is found without a copy of its text. */
let last: RequestMeta | undefined;
const MOST_KNOWN = 1_000;
/** Longest text that is kept, in bytes. */
const LONGEST_KNOWN = 2_048;

const NAMES: ReadonlyMap<string, keyof typeof META> = new Map(
  Object.entries(META).map(([name, key]) => [key, name as keyof typeof META]),
);

/**
 * Reads `_meta`; undefined for one that is absent or no object. Equal texts give the same object, and so do all that
 * cannot describe a request.
 */
export function readMeta(body: Buffer, surface: ParamsSurface | undefined): RequestMeta | undefined {
  if (last !== undefined && last.text === surface?.knownMeta) return last;
  const span = surface?.meta;
  if (span === undefined || !isObjectSpan(body, span)) return undefined;
  const length = span.end - span.start;
  const key = length > LONGEST_KNOWN ? undefined : body.toString('latin1', span.start, span.end);
  if (key !== undefined) {
    const known = KNOWN.get(key);
    if (known) return (last = known);
    if (!mayClaim(key)) return WITHOUT_CLAIM;
  }
  const text = Buffer.from(body.subarray(span.start, span.end));
  const meta = parseMeta(text);
  // a progress token or a trace differs from request to request
  if (key === undefined || meta.forBackend.length > NOTHING.length || !hasClaim(meta)) return meta;
  if (KNOWN.size >= MOST_KNOWN) KNOWN.clear();
  KNOWN.set(key, meta);
  return meta;
}

/** Returns the text that `readMeta` has found last: most clients send the same with each request. */
export const lastMeta = (): Buffer | undefined => last?.text;

const NOTHING = '{}';

/** Returns false for a text without a key that describes the request, even one with escapes. */
const mayClaim = (text: string): boolean => text.includes(PREFIX) || text.includes('\\');

/** Of equal keys the first counts. */
function parseMeta(text: Buffer): RequestMeta {
  const found: Partial<Record<keyof typeof META, Span>> = {};
  const others: string[] = [];
  let repeated: string | undefined;
  visitMembers(text, { start: 0, end: text.length }, (keyStart, keyEnd, start, end) => {
    const key = keyEnd - keyStart > PREFIX.length ? readKey(text, keyStart, keyEnd) : undefined;
    const name = key === undefined ? undefined : NAMES.get(key);
    if (name === undefined) others.push(text.toString('utf8', keyStart, end));
    else if (found[name]) repeated = key;
    else found[name] = { start, end };
  });
  const { version, client, capabilities, logLevel } = found;
  const claimed = readString(text, version);
  const forBackend = Buffer.from(`{${others.join(',')}}`);
  return { text, version, claimed, client, capabilities, logLevel, forBackend, repeated };
}

const WITHOUT_CLAIM = parseMeta(Buffer.from(NOTHING));

/** Returns true for `_meta` of a request without a session, right or wrong. */
export const hasClaim = ({ version, client, capabilities }: RequestMeta): boolean =>
  version !== undefined || client !== undefined || capabilities !== undefined;
