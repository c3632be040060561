import { readString, scanBackendEnvelope } from '../../../http/json-scan.ts';
import { arrayElements, isArraySpan, isObjectSpan, memberOf, type Span } from '../../../http/json-walk.ts';
import { isCanonicalUri } from '../../../policy/authorization/entities.ts';
import type { Catalog, ListItem } from '../catalog.ts';
import { readsDirectories } from '../extensions.ts';
import { edited, type Edit } from '../forward-params.ts';
import { clash } from '../served.ts';
import type { AdvertisedItem, SkillServer, View, Warning } from '../view.ts';
import { collectWarnings, type WarningCollector } from '../warnings.ts';
import { ownUri, prefixing, segmentOf, SKILL_SCHEME, type Advertise } from './uri-names.ts';

/** Last segment of the URI of a skill. */
const ENTRY = '/SKILL.md';

/** Longest URI that is looked up by its directories. */
const LONGEST_URI = 2_048;

/** Parts that backends may read in another way than policies do. No URI of a skill's file has them. */
const AMBIGUOUS = /[?#\\]|%(?:00|2F|5C)/u;

/** Returns true for a URI in its only spelling. That of a directory may end in a slash. */
function isUnambiguous(uri: string): boolean {
  if (AMBIGUOUS.test(uri) || !isCanonicalUri(uri)) return false;
  const start = uri.indexOf('://');
  const segments = uri.slice(start + 3).split('/');
  return start > 0 && segments[0] !== '' && !segments.slice(0, -1).includes('');
}

/** Returns the skills of a backend under their advertised URIs. Those that could not be read by them are omitted. */
export function advertisedSkills(
  backend: string,
  items: readonly ListItem[],
): { items: ListItem[]; warnings: Warning[] } {
  const warnings = collectWarnings();
  const advertise = prefixing(backend, SKILL_SCHEME);
  const served = items.filter(({ key }) => {
    if (key.endsWith(ENTRY) && isUnambiguous(key)) return true;
    warnings.add('MalformedItem', backend, 'a skill is omitted: its uri is no URI of a SKILL.md in normal form', key);
    return false;
  });
  return {
    items: served.map(({ key, json }) => {
      const span = { start: 0, end: json.length };
      return { key: advertise(key), json: edited(json, span, entryEdits(advertise, json, span)) };
    }),
    warnings: warnings.list(),
  };
}

/** Skills of all backends. */
export interface ServedSkills {
  readonly items: readonly AdvertisedItem[];
  readonly servers: View['skillServers'];
}

/** Serves the skills of all backends. Of equal URIs of another scheme than `skill`, that of the first backend counts. */
export function serveSkills(catalogs: readonly Catalog[], warnings: WarningCollector): ServedSkills {
  const items: AdvertisedItem[] = [];
  const servers = new Map<string, SkillServer>();
  for (const { backend, skills, capabilities } of catalogs) {
    if (!skills) continue;
    const server = { backend, directoryRead: readsDirectories(capabilities) };
    servers.set(SKILL_SCHEME + segmentOf(backend), server);
    for (const item of skills) {
      const directory = item.key.slice(0, -ENTRY.length);
      const owner = item.key.startsWith(SKILL_SCHEME) ? undefined : servers.get(directory)?.backend;
      if (owner !== undefined) {
        warnings.add('ResourceClash', backend, clash('skills', backend, owner, 'URI'), item.key);
        continue;
      }
      if (!item.key.startsWith(SKILL_SCHEME)) servers.set(directory, server);
      items.push(item);
    }
  }
  return { items, servers };
}

/**
 * Returns the backend of a file or directory of a skill, and its URI there: of all `skill` URIs of the backend, and of
 * what is below a listed skill of another scheme. Undefined for a URI that policies may read in another way.
 */
export function skillServerOf(
  { skillServers: servers }: Pick<View, 'skillServers'>,
  uri: string,
): { readonly server: SkillServer; readonly uri: string } | undefined {
  if (servers.size === 0 || uri.length > LONGEST_URI || !isUnambiguous(uri)) return undefined;
  const isPrefixed = uri.startsWith(SKILL_SCHEME);
  for (let end = uri.length; end > 0; end = uri.lastIndexOf('/', end - 1)) {
    const server = servers.get(uri.slice(0, end));
    if (!server) continue;
    const own = isPrefixed ? ownUri(server.backend, uri) : uri;
    return own === undefined || own === SKILL_SCHEME ? undefined : { server, uri: own };
  }
  return undefined;
}

/** Member of a result that holds the URIs: `skill` of `skills/get`, `resources` of a directory, `contents` of a file. */
export type UriResult = 'skill' | 'resources' | 'contents';

/**
 * Returns a reply of a backend with advertised URIs, and every other byte unchanged. Items of a directory for whose URI
 * `isShown` is false are left out.
 */
export function advertisedReply(
  message: Buffer,
  member: UriResult,
  advertise: Advertise,
  isShown: (uri: string) => boolean = () => true,
): Buffer {
  const { result, error } = scanBackendEnvelope(message);
  const whole = { start: 0, end: message.length };
  if (error) return edited(message, whole, uriEdits(advertise, message, memberOf(message, error, 'data')));
  const span = memberOf(message, result, member);
  if (!span) return message;
  if (member === 'skill') return edited(message, whole, entryEdits(advertise, message, span));
  if (member === 'contents') return edited(message, whole, listEdits(advertise, message, span));
  return edited(message, whole, [{ span, text: directoryText(message, span, advertise, isShown) }]);
}

/** Returns the JSON text of the list of a directory. */
function directoryText(text: Buffer, list: Span, advertise: Advertise, isShown: (uri: string) => boolean): string {
  const items = isArraySpan(text, list) ? arrayElements(text, list) : [];
  const shown = items.filter((item) => {
    const uri = readString(text, memberOf(text, item, 'uri'));
    return uri !== undefined && isShown(advertise(uri));
  });
  const texts = shown.map((item) => edited(text, item, uriEdits(advertise, text, item)).toString('utf8'));
  return `[${texts.join(',')}]`;
}

/** Returns the edits of an entry of `skills/list`: of its URI, and of those of its files. */
function entryEdits(advertise: Advertise, text: Buffer, entry: Span): Edit[] {
  if (!isObjectSpan(text, entry)) return [];
  const files = memberOf(text, entry, 'resources');
  return [...uriEdits(advertise, text, entry), ...(files ? listEdits(advertise, text, files) : [])];
}

const listEdits = (advertise: Advertise, text: Buffer, list: Span): Edit[] =>
  isArraySpan(text, list) ? arrayElements(text, list).flatMap((item) => uriEdits(advertise, text, item)) : [];

function uriEdits(advertise: Advertise, text: Buffer, item: Span | undefined): Edit[] {
  const span = memberOf(text, item, 'uri');
  const uri = readString(text, span);
  return span && uri !== undefined ? [{ span, text: JSON.stringify(advertise(uri)) }] : [];
}
