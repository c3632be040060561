import { readString, scanBackendEnvelope } from '../../http/json-scan.ts';
import { isCanonicalUri } from '../../policy/authorization/canonical-uri.ts';
import { arrayElements, isArraySpan, isObjectSpan, memberOf, type Span } from '../../http/json-walk.ts';
import type { Catalog, ListItem } from './catalog.ts';
import { readsDirectories } from './extensions.ts';
import { edited, type Edit } from './forward-params.ts';
import type { SkillServer, View, Warning } from './view.ts';
import { collectWarnings } from './warnings.ts';

const SCHEME = 'skill://';

/** What no URI of a skill's file has, and backends may read in another way than policies do. */
const AMBIGUOUS = /[?#\\]|%(?:00|2F|5C)/u;

/** Returns true for a `skill://` URI in its only spelling. That of a directory may end in a slash. */
function isUnambiguous(uri: string): boolean {
  if (!uri.startsWith(SCHEME) || AMBIGUOUS.test(uri) || !isCanonicalUri(uri)) return false;
  const segments = uri.slice(SCHEME.length).split('/');
  return segments[0] !== '' && !segments.slice(0, -1).includes('');
}

/** Returns the first segment of the advertised URIs of a backend. */
const segmentOf = (backend: string): string => encodeURIComponent(backend);

/** Returns the advertised URI of a skill's file or directory. URIs of other schemes stay as they are. */
const advertised = (backend: string, uri: string): string =>
  uri.startsWith(SCHEME) ? `${SCHEME}${segmentOf(backend)}/${uri.slice(SCHEME.length)}` : uri;

/** Returns the backends that offer skills, by the first segment of their advertised URIs. */
export const skillServers = (backends: readonly Catalog[]): ReadonlyMap<string, SkillServer> =>
  new Map(
    backends
      .filter(({ skills }) => skills !== undefined)
      .map(({ backend, capabilities }) => [
        segmentOf(backend),
        { backend, directoryRead: readsDirectories(capabilities) },
      ]),
  );

/** Returns the backend of an advertised URI, and the URI there. Undefined for a URI that policies may read in another way. */
export function skillServerOf(
  { skillServers: servers }: Pick<View, 'skillServers'>,
  uri: string,
): { readonly server: SkillServer; readonly uri: string } | undefined {
  const end = uri.indexOf('/', SCHEME.length);
  if (end === -1 || !isUnambiguous(uri)) return undefined;
  const server = servers.get(uri.slice(SCHEME.length, end));
  const rest = uri.slice(end + 1);
  return server && rest !== '' ? { server, uri: SCHEME + rest } : undefined;
}

/** Returns the skills of a backend under their advertised URIs. Those that could not be read by them are omitted. */
export function advertisedSkills(
  backend: string,
  items: readonly ListItem[],
): { items: ListItem[]; warnings: Warning[] } {
  const warnings = collectWarnings();
  const served = items.filter(({ key }) => {
    if (isUnambiguous(key)) return true;
    warnings.add('MalformedItem', backend, 'a skill is omitted: its uri is no skill:// URI in normal form', key);
    return false;
  });
  return {
    items: served.map(({ key, json }) => {
      const span = { start: 0, end: json.length };
      return { key: advertised(backend, key), json: edited(json, span, entryEdits(backend, json, span)) };
    }),
    warnings: warnings.list(),
  };
}

/** Member of a result that holds the URIs: `skill` of `skills/get`, `resources` of a directory, `contents` of a file. */
export type SkillResult = 'skill' | 'resources' | 'contents';

/**
 * Returns a reply of a backend with advertised URIs, and every other byte unchanged. Items of a directory for whose URI
 * `isShown` is false are left out.
 */
export function advertisedReply(
  backend: string,
  message: Buffer,
  member: SkillResult,
  isShown: (uri: string) => boolean,
): Buffer {
  const { result } = scanBackendEnvelope(message);
  const span = result && isObjectSpan(message, result) ? memberOf(message, result, member) : undefined;
  const whole = { start: 0, end: message.length };
  if (!span) return message;
  if (member === 'skill') return edited(message, whole, entryEdits(backend, message, span));
  if (member === 'contents') return edited(message, whole, listEdits(backend, message, span));
  return edited(message, whole, [{ span, text: directoryText(backend, message, span, isShown) }]);
}

/** Returns the JSON text of the list of a directory. */
function directoryText(backend: string, text: Buffer, list: Span, isShown: (uri: string) => boolean): string {
  const items = isArraySpan(text, list) ? arrayElements(text, list) : [];
  const shown = items.filter((item) => {
    const uri = isObjectSpan(text, item) ? readString(text, memberOf(text, item, 'uri')) : undefined;
    return uri !== undefined && isShown(advertised(backend, uri));
  });
  const texts = shown.map((item) => edited(text, item, uriEdits(backend, text, item)).toString('utf8'));
  return `[${texts.join(',')}]`;
}

/** Returns the edits of an entry of `skills/list`: of its URI, and of those of its files. */
function entryEdits(backend: string, text: Buffer, entry: Span): Edit[] {
  if (!isObjectSpan(text, entry)) return [];
  const files = memberOf(text, entry, 'resources');
  return [...uriEdits(backend, text, entry), ...(files ? listEdits(backend, text, files) : [])];
}

const listEdits = (backend: string, text: Buffer, list: Span): Edit[] =>
  isArraySpan(text, list) ? arrayElements(text, list).flatMap((item) => uriEdits(backend, text, item)) : [];

function uriEdits(backend: string, text: Buffer, item: Span): Edit[] {
  const span = isObjectSpan(text, item) ? memberOf(text, item, 'uri') : undefined;
  const uri = readString(text, span);
  return span && uri !== undefined ? [{ span, text: JSON.stringify(advertised(backend, uri)) }] : [];
}
