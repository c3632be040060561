import type { CedarValueJson, EntityJson } from '@cedar-policy/cedar-wasm/nodejs';
import type { Problem } from '../../contract/problem.ts';
import { isObject } from '../../contract/json.ts';
import { CedarCrashError, CedarInstance } from './cedar.ts';
import { MAX_ANCESTRY, MAX_ENTITIES, MAX_POLICY_BYTES } from './config.ts';
import { AUTHZ_INVALID, type Parsed } from './policy-text.ts';
import { isEntityRef, type EntityRef } from './syntax.ts';
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
/** Characters that a file system takes for a separator, or ignores. */
const EXTRA_SEPARATOR = /\/\/|%2F|%5C|\/$/u;

/**
 * Returns true for a canonical URI that backends read in one way only, as far as that can be known: a read through a template reaches
 * URIs that no list has, so a policy that forbids one of them must not miss its other spellings.
 */
export function isUnambiguousUri(uri: string): boolean {
  if (!isCanonicalUri(uri) || UNUSUAL.test(uri) || DOT_SEGMENT_IN_QUERY.test(uri)) return false;
  return !uri.startsWith(FILE) || !EXTRA_SEPARATOR.test(uri.slice(FILE.length));
}

/** An entity as the evaluator gets it. */
export interface Entity {
  readonly uid: EntityRef;
  readonly attrs: Record<string, CedarValueJson>;
  readonly parents: readonly EntityRef[];
  readonly tags?: Record<string, CedarValueJson>;
}

/** Entities of a configuration, by `keyOf`. */
export type StaticEntities = ReadonlyMap<string, Entity>;

export const keyOf = ({ type, id }: EntityRef): string => JSON.stringify([type, id]);

/** Parses `entities_json`: an array of Cedar entities. Paths of problems start with `entities_json`. */
export function parseEntities(text: string): Parsed<StaticEntities> {
  const fault = (message: string): Parsed<StaticEntities> => ({
    problems: [{ reason: AUTHZ_INVALID, path: 'entities_json', message } satisfies Problem],
  });
  if (Buffer.byteLength(text) > MAX_POLICY_BYTES) {
    return fault(`has more than ${String(MAX_POLICY_BYTES)} bytes: remove entities that no policy needs`);
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return fault(`is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (!Array.isArray(json)) return fault('must be an array of entities, such as []');
  if (json.length > MAX_ENTITIES) return fault(`has more than ${String(MAX_ENTITIES)} entities: remove some`);
  const deep = deepEntity(json);
  if (deep) return fault(`${nameOf(deep)} has more than ${String(MAX_ANCESTRY)} generations of parents`);
  const entities = json as EntityJson[];
  const message = checkedByCedar(entities);
  if (message !== undefined) return fault(message);
  return { value: new Map(entities.map((entity) => [keyOf(refOf(entity.uid)), normal(entity)])) };
}

function checkedByCedar(entities: EntityJson[]): string | undefined {
  try {
    const answer = new CedarInstance().run((cedar) => cedar.checkParseEntities({ entities }));
    if (answer.type === 'success') return undefined;
    return answer.errors.map(({ message, help }) => (help === null ? message : `${message} (${help})`)).join('; ');
  } catch (error) {
    if (error instanceof CedarCrashError) return 'has values or parents that are nested too deeply: flatten them';
    throw error;
  }
}

const refOf = (uid: EntityJson['uid']): EntityRef => ('__entity' in uid ? uid.__entity : uid);

const nameOf = ({ type, id }: EntityRef): string => `${type}::${JSON.stringify(id)}`;

const normal = ({ uid, attrs, parents, tags }: EntityJson): Entity => ({
  uid: refOf(uid),
  attrs,
  parents: parents.map(refOf),
  ...(tags && { tags }),
});

/**
 * Returns an entity with more generations of parents than allowed: Cedar takes minutes for a long line of them. It ignores
 * items that are no entities, and short cycles: Cedar reports these.
 */
function deepEntity(items: readonly unknown[]): EntityRef | undefined {
  const parents = new Map<string, readonly string[]>();
  const found: EntityRef[] = [];
  for (const item of items) {
    const ref = isObject(item) ? readRef(item['uid']) : undefined;
    if (!ref || !isObject(item) || !Array.isArray(item['parents'])) continue;
    found.push(ref);
    const refs = item['parents'].map(readRef).filter((parent) => parent !== undefined);
    parents.set(keyOf(ref), refs.map(keyOf));
  }
  return found.find((ref) => isDeep(keyOf(ref), parents));
}

function readRef(value: unknown): EntityRef | undefined {
  const ref = isObject(value) && '__entity' in value ? value['__entity'] : value;
  return isEntityRef(ref) ? ref : undefined;
}

/** Returns true for more generations above an entity than allowed, unless so few entities make them that they are a cycle. */
function isDeep(key: string, parents: ReadonlyMap<string, readonly string[]>): boolean {
  const seen = new Set<string>();
  let generation = new Set([key]);
  for (let count = 0; generation.size > 0; count += 1) {
    if (count > MAX_ANCESTRY) return seen.size > MAX_ANCESTRY;
    generation = new Set([...generation].flatMap((each) => parents.get(each) ?? []));
    for (const each of generation) seen.add(each);
  }
  return false;
}

/** Returns `entity` with the attributes and parents that the configuration gives it. The configuration wins. */
export function merged(entity: Entity, entities: StaticEntities): Entity {
  const configured = entities.size === 0 ? undefined : entities.get(keyOf(entity.uid));
  if (!configured) return entity;
  const parents = new Map([...entity.parents, ...configured.parents].map((parent) => [keyOf(parent), parent]));
  return {
    ...entity,
    ...configured,
    attrs: { ...entity.attrs, ...configured.attrs },
    parents: [...parents.values()],
  };
}

/** Lists the configured entities that an evaluation can reach from `roots`, by parents, attributes and tags. */
export function reachable(roots: readonly EntityRef[], entities: StaticEntities): ReadonlyMap<string, Entity> {
  const found = new Map<string, Entity>();
  const open = [...roots];
  for (let ref = open.pop(); ref; ref = open.pop()) {
    const key = keyOf(ref);
    const entity = entities.get(key);
    if (!entity || found.has(key)) continue;
    found.set(key, entity);
    open.push(...refsIn(entity));
  }
  return found;
}

/** Lists the parents of an entity and the entities in its attributes and tags. */
export function refsIn({ parents, attrs, tags = {} }: Entity): EntityRef[] {
  const found = [...parents];
  const open: unknown[] = [attrs, tags];
  while (open.length > 0) {
    const value = open.pop();
    if (isEntityRef(value)) found.push(value);
    if (Array.isArray(value)) open.push(...(value as unknown[]));
    else if (isObject(value)) open.push(...Object.values(value));
  }
  return found;
}
