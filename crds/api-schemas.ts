import { DURATION_PATTERN } from '../gateway/contract/fields.ts';

/** Schema of the OpenAPI document, with the keywords that the documentation shows. */
export interface ApiSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly default?: unknown;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, ApiSchema>>;
  readonly additionalProperties?: boolean | ApiSchema;
  readonly items?: ApiSchema;
  readonly required?: readonly string[];
  readonly anyOf?: readonly ApiSchema[];
}

export type ApiSchemas = Readonly<Record<string, ApiSchema>>;

interface Field {
  readonly name: string;
  readonly schema: ApiSchema;
  readonly isRequired: boolean;
}

/** A schema that is used once and has at most this many fields is shown where it is used. */
const MOST_INLINE = 6;
const PREFIX = '#/components/schemas/';
/** Variants that `import` accepts. The page of the run configuration describes how they differ. */
const IMPORTED = 'Imported';

const code = (text: string): string => `\`${text}\``;
/** Escapes a text for a cell of a table. */
export const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

/** Returns the name of the schema that a reference names; undefined for any other schema. */
export function nameOf({ $ref }: ApiSchema): string | undefined {
  const name = $ref?.slice(PREFIX.length);
  return name?.startsWith(IMPORTED) ? name.slice(IMPORTED.length) : name;
}

const valueOf = ({ additionalProperties }: ApiSchema): ApiSchema | undefined =>
  typeof additionalProperties === 'object' ? additionalProperties : undefined;

/** Returns the schemas directly inside a schema. */
const partsOf = (schema: ApiSchema): ApiSchema[] => [
  ...Object.values(schema.properties ?? {}),
  ...[schema.items, valueOf(schema)].filter((part) => part !== undefined),
  ...(schema.anyOf ?? []),
];

/** Returns the names that a schema refers to, once for each reference. */
const namesIn = (schema: ApiSchema): string[] => {
  const name = nameOf(schema);
  return name === undefined ? partsOf(schema).flatMap(namesIn) : [name];
};

/**
 * Writes the schemas of a document as Markdown. Each schema has one section, on the page of the first root that reaches it;
 * a small schema that is used once is part of the table of its user.
 */
export class SchemaTables {
  readonly #schemas: ApiSchemas;
  readonly #pages = new Map<string, string>();
  readonly #uses = new Map<string, number>();

  /** Takes the schemas and the pages in the order in which they claim schemas, each with its roots. */
  constructor(schemas: ApiSchemas, pages: readonly (readonly [page: string, roots: readonly ApiSchema[]])[]) {
    this.#schemas = schemas;
    for (const [page, roots] of pages) for (const root of roots) this.#claim(root, page);
  }

  #claim(schema: ApiSchema, page: string): void {
    for (const name of namesIn(schema)) {
      this.#uses.set(name, (this.#uses.get(name) ?? 0) + 1);
      if (this.#pages.has(name)) continue;
      this.#pages.set(name, page);
      this.#claim(this.#named(name), page);
    }
  }

  #named(name: string): ApiSchema {
    const schema = this.#schemas[name];
    if (schema === undefined) throw new Error(`the document has no schema "${name}"`);
    return schema;
  }

  /** Returns the schema whose fields are shown in place of a reference; undefined when the reference becomes a link. */
  #inlined(schema: ApiSchema): ApiSchema | undefined {
    const name = nameOf(schema);
    if (name === undefined) return schema;
    const named = this.#named(name);
    const isSmall = this.#uses.get(name) === 1 && this.#fields(named, '').length <= MOST_INLINE;
    return isSmall && (named.properties !== undefined || named.items !== undefined) ? named : undefined;
  }

  /** Returns the fields of a schema and of those inside that are shown with it, parents first. */
  #fields(schema: ApiSchema, path: string): Field[] {
    const shown = this.#inlined(schema);
    if (shown === undefined) return [];
    if (shown.items) return this.#fields(shown.items, `${path}[]`);
    const value = valueOf(shown);
    if (value) return this.#fields(value, `${path}{}`);
    return Object.entries(shown.properties ?? {}).flatMap(([member, inner]) => {
      const name = path === '' ? member : `${path}.${member}`;
      const isRequired = shown.required?.includes(member) ?? false;
      return [{ name, schema: inner, isRequired }, ...this.#fields(inner, name)];
    });
  }

  #typeOf(schema: ApiSchema, page: string): string {
    const shown = this.#inlined(schema);
    if (shown === undefined) return this.link(schema, page);
    if (shown.enum) return shown.enum.map((value) => code(JSON.stringify(value).slice(1, -1) || '""')).join(', ');
    if (shown.anyOf) return shown.anyOf.map((option) => this.#typeOf(option, page)).join(' or ');
    if (shown.items) return `list of ${this.#typeOf(shown.items, page)}`;
    const value = valueOf(shown);
    if (value) return `map of ${this.#typeOf(value, page)}`;
    return shown.pattern === DURATION_PATTERN ? 'duration' : (shown.type ?? 'any');
  }

  /** Returns the table of the fields of a schema, for a page; empty for a schema without fields. */
  table(schema: ApiSchema, page: string): string {
    const lines = this.#fields(schema, '').map(({ name, schema: field, isRequired }) => {
      const { default: byDefault, description = this.#inlined(field)?.description } = field;
      const notes = [
        this.#typeOf(field, page),
        ...(isRequired ? ['required'] : []),
        ...(byDefault === undefined ? [] : [`default ${code(JSON.stringify(byDefault))}`]),
      ];
      return `| ${[code(name), notes.join(', '), description ?? ''].map(cell).join(' | ')} |`;
    });
    return lines.length === 0 ? '' : ['| Field | Type | Meaning |', '| --- | --- | --- |', ...lines].join('\n');
  }

  /** Returns the type of a body: a link, or the form of the value whose fields `table` shows. */
  link(schema: ApiSchema, page: string): string {
    const name = nameOf(schema);
    if (name === undefined || this.#inlined(schema)) return this.#typeOf(schema, page);
    const target = this.#pages.get(name) ?? '';
    return `[${name}](${target === page ? '' : target}#${name.toLowerCase()})`;
  }

  /** Returns the sections of the schemas of a page, sorted by name, without `root`. */
  sections(page: string, root?: string): string[] {
    return [...this.#pages]
      .filter(([name, owner]) => owner === page && name !== root && !this.#inlined({ $ref: PREFIX + name }))
      .map(([name]) => name)
      .toSorted()
      .map((name) => {
        const { description, ...schema } = this.#named(name);
        const table = this.table(schema, page);
        return [`### ${name}`, description, table === '' ? this.#typeOf(schema, page) : table]
          .filter((part) => part !== undefined)
          .join('\n\n');
      });
  }
}
