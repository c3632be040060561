import { isObject, type JsonObject } from '../json.ts';
import { subschemas } from './subschemas.ts';
import { MODEL_RULES, REMEDIES, type ModelLimit, type ModelRule } from './rules.ts';

/** Tools that a rule of an API rejects. */
export interface ModelFinding extends Pick<ModelRule, 'id' | 'family' | 'fault' | 'source' | 'date'> {
  readonly remedy: string;
  /** Names, sorted. Empty where the number of all tools is the fault. */
  readonly tools: readonly string[];
}

/** Limits on the parts of a tool other than its name. */
const OF_TOOLS = MODEL_RULES.filter(({ limit: { on } }) => on !== 'count' && on !== 'name' && on !== 'name-length');
const OF_NAMES = MODEL_RULES.filter(({ limit: { on } }) => on === 'name' || on === 'name-length');

/** Returns the rules that the description and the input schema of a tool break. */
export function brokenByTool({ description, inputSchema }: JsonObject): readonly ModelRule[] {
  const schemas = subschemas(inputSchema);
  return OF_TOOLS.filter(({ limit }) => isBroken(limit, description, inputSchema, schemas));
}

function isBroken(limit: ModelLimit, description: unknown, root: unknown, schemas: readonly JsonObject[]): boolean {
  switch (limit.on) {
    case 'description-length':
      return typeof description === 'string' && description.length > limit.most;
    case 'root':
      return isObject(root) && (root['type'] !== 'object' || limit.without.some((keyword) => keyword in root));
    case 'keyword':
      return schemas.some((schema) => limit.without.some((keyword) => Object.hasOwn(schema, keyword)));
    case 'items':
      return schemas.some((schema) => isArrayType(schema['type']) && !isObject(schema['items']));
    case 'type':
      return schemas.some(({ type }) => Array.isArray(type));
    case 'property':
      return schemas.some(
        ({ properties }) => isObject(properties) && Object.keys(properties).some((name) => !limit.pattern.test(name)),
      );
    default:
      return false;
  }
}

const isArrayType = (type: unknown): boolean => type === 'array' || (Array.isArray(type) && type.includes('array'));

const brokenByName = (name: string): readonly ModelRule[] =>
  OF_NAMES.filter(({ limit }) =>
    limit.on === 'name-length' ? name.length > limit.most : limit.on === 'name' && !limit.pattern.test(name),
  );

/** Lists the rules that tools break, in the order of the table. `broken` are the results of `brokenByTool`. */
export function modelFindings(
  tools: readonly { readonly name: string; readonly broken: readonly ModelRule[] }[],
): ModelFinding[] {
  const names = new Map<ModelRule, string[]>();
  for (const { name, broken } of tools)
    for (const rule of [...brokenByName(name), ...broken]) names.set(rule, [...(names.get(rule) ?? []), name]);
  return MODEL_RULES.flatMap((rule) => {
    const { id, family, limit, fault, source, date } = rule;
    const rejected = names.get(rule) ?? [];
    const isBrokenByAll = limit.on === 'count' && tools.length > limit.most;
    if (rejected.length === 0 && !isBrokenByAll) return [];
    return [{ id, family, fault, remedy: REMEDIES[limit.on], source, date, tools: rejected.toSorted() }];
  });
}
