import { readString } from '../../http/json-scan.ts';
import { isObjectSpan, type Span } from '../../http/json-walk.ts';
import { knownKeys, knownMembers, scanKnown } from '../../http/known-members.ts';
import { firstSegment, ownUri, SKILL_SCHEME } from './resources/uri-names.ts';
import { skillServerOf } from './resources/skills.ts';
import { unlistedRoute } from './served.ts';
import { matchesTemplate, mayMatch } from './uri-template.ts';
import type { Route, View } from './view.ts';

/** Longest URI that is matched against templates. Longer URIs are only looked up. */
const MAX_MATCHED_URI_BYTES = 2048;
/**
 * Limit of characters x variables that one lookup matches for the templates of one backend: about 10 ms, far more than
 * usual lists need.
 */
const MAX_MATCHING_STEPS = 500_000;

/**
 * Returns the route of `resources/read`, `subscribe` and `unsubscribe`: of the resource with this URI, else of the
 * template with this text, else of the first template that matches. A file of a skill needs no list. `skill` URIs
 * belong to the backend that they name, so templates of others do not match them.
 */
export function routeResource(view: View, uri: string): Route | undefined {
  const listed = view.resources.get(uri) ?? view.templates.get(uri);
  if (listed) return listed;
  if (view.skillServers.size === 0) return matchTemplate(view, uri);
  if (!uri.startsWith(SKILL_SCHEME)) return matchTemplate(view, uri) ?? routeSkill(view, uri);
  const route = routeSkill(view, uri) ?? matchTemplate(view, uri);
  const owner = view.skillServers.get(SKILL_SCHEME + firstSegment(uri));
  return owner && route?.backend !== owner.backend ? undefined : route;
}

/** Returns the route of a file or directory of a skill. Policies judge it like a resource that no list has. */
export function routeSkill(view: View, uri: string): Route | undefined {
  const found = skillServerOf(view, uri);
  return found && unlistedRoute(found.server.backend, found.uri, uri);
}

/** Listed URIs by their normal form, for each set of resources; undefined for a form of several. */
const SPELLINGS = new WeakMap<View['resources'], ReadonlyMap<string, string | undefined>>();

/**
 * Returns the URI of the one listed resource with the same normal form, else the given URI: some clients rewrite the URIs of a list
 * before they read them. Backends and policies know the listed spelling only. @see https://url.spec.whatwg.org/#url-serializing
 */
export function listedUri({ resources, templates }: Pick<View, 'resources' | 'templates'>, uri: string): string {
  const isKnown = resources.has(uri) || templates.has(uri);
  if (isKnown || resources.size === 0 || Buffer.byteLength(uri) > MAX_MATCHED_URI_BYTES) return uri;
  const normal = URL.parse(uri)?.href;
  let spellings = SPELLINGS.get(resources);
  if (!spellings) SPELLINGS.set(resources, (spellings = spellingsOf(resources)));
  return (normal !== undefined && spellings.get(normal)) || uri;
}

function spellingsOf(resources: View['resources']): ReadonlyMap<string, string | undefined> {
  const spellings = new Map<string, string | undefined>();
  for (const [uri, { kind, advertised }] of resources) {
    const normal = kind === 'resources' && uri === advertised ? URL.parse(uri)?.href : undefined;
    if (normal !== undefined) spellings.set(normal, spellings.has(normal) ? undefined : uri);
  }
  return spellings;
}

/** Returns the URI of a request as policies and audit see it: that of the list when the client used another. */
export const judgedUri = ({ kind, advertised }: Route, uri: string): string =>
  kind === 'resources' ? advertised : uri;

/** Returns the route of the first template, in sorted order, that can expand to `uri` (RFC 6570). */
export function matchTemplate(view: View, uri: string): Route | undefined {
  if (Buffer.byteLength(uri) > MAX_MATCHED_URI_BYTES) return undefined;
  const spent = new Map<string, number>();
  for (const { template, route } of view.templateRoutes) {
    if (!mayMatch(template, uri)) continue;
    const steps = spent.get(route.backend) ?? 0;
    if (steps > MAX_MATCHING_STEPS) continue;
    if (matchesTemplate(template, uri)) return route.renamed ? expanded(route, uri) : route;
    spent.set(route.backend, steps + uri.length * (template.variableCount + 1));
  }
  return undefined;
}

/** Returns the route of a renamed template for one of its URIs. */
function expanded(route: Route, uri: string): Route | undefined {
  const name = ownUri(route.backend, uri);
  return name === undefined ? undefined : { ...route, name, nameJson: Buffer.from(JSON.stringify(name)) };
}

/** `params.ref` of `completion/complete`. */
export interface Reference {
  readonly type: 'ref/prompt' | 'ref/resource';
  /** Advertised prompt name, URI or URI template. */
  readonly key: string;
  /** Span of `ref.name` or `ref.uri`, for `forwardParams`. */
  readonly value: Span;
}

const REF_KEYS = knownKeys('type', 'name', 'uri');

/** Returns undefined for an invalid reference. Throws `ScanError` (`invalid`) for a duplicate key. */
export function readReference(text: Buffer, ref: Span): Reference | undefined {
  if (!isObjectSpan(text, ref)) return undefined;
  const members = knownMembers(REF_KEYS);
  scanKnown(text, ref.start, members);
  const { found } = members;
  const type = readString(text, found[0]);
  if (type !== 'ref/prompt' && type !== 'ref/resource') return undefined;
  const value = type === 'ref/prompt' ? found[1] : found[2];
  const key = readString(text, value);
  return value === undefined || key === undefined ? undefined : { type, key, value };
}

/**
 * Returns the route of a completion. Undefined leads to an empty completion, not an error: a client may complete while
 * the list changes.
 */
export function routeReference(view: View, { type, key }: Reference): Route | undefined {
  if (type === 'ref/prompt') return view.prompts.get(key);
  return view.templates.get(key) ?? view.resources.get(key) ?? matchTemplate(view, key);
}
