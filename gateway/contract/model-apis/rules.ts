import { isObject, type JsonObject } from '../json.ts';
import { subschemas } from './subschemas.ts';
/** Families of clients, by the API of the models that they use. */
export const MODEL_FAMILIES = ['OpenAI', 'Anthropic', 'Gemini'] as const;
export type ModelFamily = (typeof MODEL_FAMILIES)[number];

/** A limit of an API on the tools of a request. */
export type ModelLimit =
  | { readonly on: 'count' | 'name-length' | 'description-length'; readonly most: number }
  | { readonly on: 'name' | 'property'; readonly pattern: RegExp }
  /** The input schema must have type `object`, and none of these keywords at the top. */
  | { readonly on: 'root'; readonly without: readonly string[] }
  /** No schema may have any of these keywords. */
  | { readonly on: 'keyword'; readonly without: readonly string[] }
  /** An array needs `items`. */
  | { readonly on: 'items' }
  /** `type` must be a string. */
  | { readonly on: 'type' };

/** A rule of an API for which it rejects a request with all tools in it. */
export interface ModelRule {
  readonly id: string;
  readonly family: ModelFamily;
  readonly limit: ModelLimit;
  /** Fault of a tool, after "tools" or "tool". */
  readonly fault: string;
  /** Page that states the rule, or shows the answer of the API. */
  readonly source: string;
  /** Day on which the source was last found to say so. */
  readonly date: string;
}

const LATEST = '2026-11-28';
const OPENAI_SDK = 'https://unpkg.com/openai@6.49.0/resources/shared.d.ts';
const GEMINI_SDK = 'https://unpkg.com/@google/genai@2.32.0/dist/genai.d.ts';
const VERTEX =
  'https://cloud.google.com/vertex-ai/generative-ai/docs/reference/java/latest/com.google.cloud.vertexai.api.FunctionDeclarationOrBuilder';
const COMBINED = ['oneOf', 'anyOf', 'allOf'];

/**
 * Rules that make an API answer 400. Leaves out keywords that the clients of an API remove before they send a schema (`$schema`,
 * `additionalProperties`): nearly all tools have them, and work.
 */
export const MODEL_RULES: readonly ModelRule[] = [
  {
    id: 'openai-name-length',
    family: 'OpenAI',
    limit: { on: 'name-length', most: 64 },
    fault: 'with a name over 64 characters',
    source: OPENAI_SDK,
    date: LATEST,
  },
  {
    id: 'openai-name',
    family: 'OpenAI',
    limit: { on: 'name', pattern: /^[a-zA-Z0-9_-]+$/u },
    fault: 'with other characters than letters, digits, _ and - in the name',
    source: OPENAI_SDK,
    date: LATEST,
  },
  {
    id: 'openai-description',
    family: 'OpenAI',
    limit: { on: 'description-length', most: 1024 },
    fault: 'with a description over 1,024 characters, which some deployments reject',
    source: 'https://github.com/getsentry/sentry-mcp/issues/106',
    date: LATEST,
  },
  {
    id: 'openai-count',
    family: 'OpenAI',
    limit: { on: 'count', most: 128 },
    fault: 'more than 128',
    source: 'https://github.com/musistudio/claude-code-router/issues/686',
    date: LATEST,
  },
  {
    id: 'openai-items',
    family: 'OpenAI',
    limit: { on: 'items' },
    fault: 'with an array without items',
    source: 'https://github.com/digitalocean-labs/mcp-digitalocean/issues/265',
    date: LATEST,
  },
  {
    id: 'openai-root',
    family: 'OpenAI',
    limit: { on: 'root', without: [...COMBINED, 'enum', 'not'] },
    fault: 'with an input schema that is not one object (oneOf, anyOf, allOf, enum or not at the top)',
    source: 'https://github.com/langchain-ai/langchainjs/issues/9804',
    date: LATEST,
  },
  {
    id: 'anthropic-name-length',
    family: 'Anthropic',
    limit: { on: 'name-length', most: 128 },
    fault: 'with a name over 128 characters',
    source: 'https://github.com/anthropics/claude-code/issues/96152',
    date: LATEST,
  },
  {
    id: 'anthropic-name',
    family: 'Anthropic',
    limit: { on: 'name', pattern: /^[a-zA-Z0-9_-]+$/u },
    fault: 'with other characters than letters, digits, _ and - in the name',
    source: 'https://github.com/home-assistant/core/issues/147760',
    date: LATEST,
  },
  {
    id: 'anthropic-property',
    family: 'Anthropic',
    limit: { on: 'property', pattern: /^[a-zA-Z0-9_.-]{1,64}$/u },
    fault: 'with an argument whose name is not 1 to 64 letters, digits, _, . and -',
    source: 'https://github.com/diegosouzapw/OmniRoute/issues/13552',
    date: LATEST,
  },
  {
    id: 'anthropic-root',
    family: 'Anthropic',
    limit: { on: 'root', without: COMBINED },
    fault: 'with an input schema that is not one object (oneOf, anyOf or allOf at the top)',
    source: 'https://github.com/langchain-ai/langchain/issues/39271',
    date: LATEST,
  },
  {
    id: 'anthropic-ref',
    family: 'Anthropic',
    limit: { on: 'keyword', without: ['$ref', '$dynamicRef', '$recursiveRef'] },
    fault: 'with $ref in the input schema',
    source: 'https://github.com/diegosouzapw/OmniRoute/issues/13552',
    date: LATEST,
  },
  {
    id: 'gemini-name-length',
    family: 'Gemini',
    limit: { on: 'name-length', most: 64 },
    fault: 'with a name over 64 characters, the limit of Vertex AI',
    source: VERTEX,
    date: LATEST,
  },
  {
    id: 'gemini-name',
    family: 'Gemini',
    limit: { on: 'name', pattern: /^[a-zA-Z_][a-zA-Z0-9_.-]*$/u },
    fault: 'with a name that is not a letter or _, then letters, digits, _, . and -',
    source: VERTEX,
    date: LATEST,
  },
  {
    id: 'gemini-count',
    family: 'Gemini',
    limit: { on: 'count', most: 512 },
    fault: 'more than 512',
    source: GEMINI_SDK,
    date: LATEST,
  },
  {
    id: 'gemini-ref',
    family: 'Gemini',
    limit: { on: 'keyword', without: ['$ref', '$dynamicRef', '$recursiveRef'] },
    fault: 'with $ref in the input schema',
    source: 'https://github.com/google-gemini/gemini-cli/issues/13326',
    date: LATEST,
  },
  {
    id: 'gemini-keyword',
    family: 'Gemini',
    limit: {
      on: 'keyword',
      without: [
        'const',
        'allOf',
        'not',
        'if',
        'then',
        'else',
        'patternProperties',
        'exclusiveMinimum',
        'exclusiveMaximum',
      ],
    },
    fault: 'with a keyword that it does not know, such as const, allOf or exclusiveMinimum',
    source: 'https://github.com/zed-extensions/mcp-server-brave-search/issues/12',
    date: LATEST,
  },
  {
    id: 'gemini-items',
    family: 'Gemini',
    limit: { on: 'items' },
    fault: 'with an array without items',
    source: 'https://github.com/jackmusick/bifrost/pull/225',
    date: LATEST,
  },
  {
    id: 'gemini-type',
    family: 'Gemini',
    limit: { on: 'type' },
    fault: 'with a list of types, such as ["string", "null"]',
    source: 'https://github.com/zed-industries/zed/issues/53919',
    date: LATEST,
  },
];

/** Setting or change that mends a fault, after a colon. */
export const REMEDIES: Readonly<Record<ModelLimit['on'], string>> = {
  count: 'hide tools with a filter',
  'name-length': 'set aggregation.maxToolNameLength',
  name: 'rename them with overrides',
  'description-length': 'shorten it with overrides',
  property: 'report it to the authors of the server',
  root: 'set aggregation.portableSchemas',
  keyword: 'set aggregation.portableSchemas',
  items: 'set aggregation.portableSchemas',
  type: 'set aggregation.portableSchemas',
};

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
