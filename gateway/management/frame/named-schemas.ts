/** Part of a document in JSON. */
export type Json = Readonly<Record<string, unknown>>;

const PREFIX = '#/components/schemas/';

/** Members of a JSON Schema that name it or hold other schemas. */
interface Schema extends Json {
  readonly title?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

/** Returns `from_registry` and `fromRegistry` as `FromRegistry`. */
export const pascalCase = (name: string): string =>
  name
    .split(/[^\dA-Za-z]/u)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');

/**
 * Schemas of an OpenAPI document by name. Generators of clients write a type for each schema. Its name is its `title`, or the place
 * where it occurs first.
 */
export class NamedSchemas {
  readonly #schemas = new Map<string, Json>();
  /** JSON text of each schema without its description, by name. */
  readonly #shapes = new Map<string, string>();
  /** Name of the first schema with a shape. */
  readonly #names = new Map<string, string>();

  /** Returns the schemas, sorted by name. */
  all(): Json {
    return Object.fromEntries([...this.#schemas].toSorted(([one], [other]) => (one < other ? -1 : 1)));
  }

  /** Adds a schema by its title, else by `name`, and returns a reference to it. Throws if another schema has the name. */
  add(schema: object, name = ''): Json {
    const { title: named = name, description, ...rest } = schema as Schema;
    const shape = JSON.stringify(rest);
    if (!this.#shapes.has(named)) {
      this.#shapes.set(named, shape);
      if (!this.#names.has(shape)) this.#names.set(shape, named);
      this.#schemas.set(named, { ...(description !== undefined && { description }), ...this.#plain(rest, named) });
    }
    if (this.#shapes.get(named) !== shape)
      throw new Error(`two schemas are called "${named}": give each a title of its own`);
    const isOther = description !== undefined && description !== this.#schemas.get(named)?.['description'];
    return { $ref: PREFIX + named, ...(isOther && { description }) };
  }

  /** Adds a choice between schemas that have names, and returns a reference to it. */
  addUnion(references: readonly Json[]): Json {
    const names = references.map(({ $ref }) => String($ref).slice(PREFIX.length));
    return this.add({ anyOf: references }, names.join('Or'));
  }

  /** Returns a reference to a schema with a title or with members, and rewrites any other. */
  refer(schema: Schema, place: string): Json {
    const { title, description: _description, ...shape } = schema;
    const hasMembers = Object.keys(schema.properties ?? {}).length > 0;
    const isNullable = Array.isArray(schema.type) && schema.type.includes('null');
    if (isNullable || (title === undefined && !hasMembers)) return this.#plain(schema, place);
    return this.add(schema, title ?? this.#names.get(JSON.stringify(shape)) ?? place);
  }

  /** Replaces the keywords that generators do not read, and refers to the schemas inside. */
  #plain(schema: Schema, place: string): Json {
    const { type, properties, patternProperties = {}, additionalProperties, items, anyOf, ...others } = schema;
    if (Array.isArray(type)) return this.#alternatives(type as readonly string[], schema, place);
    const isText = others.enum?.every((value) => typeof value === 'string') === true;
    const [value = additionalProperties] = Object.values(patternProperties);
    return {
      ...((type !== undefined || isText) && { type: type ?? 'string' }),
      ...others,
      ...(properties && {
        properties: Object.fromEntries(
          Object.entries(properties).map(([name, member]) => [name, this.refer(member, place + pascalCase(name))]),
        ),
      }),
      ...(value !== undefined && {
        additionalProperties: typeof value === 'object' ? this.refer(value, `${place}Value`) : value,
      }),
      ...(items && { items: this.refer(items, `${place}Item`) }),
      ...(anyOf && { anyOf: anyOf.map((one, index) => this.refer(one, `${place}Option${String(index + 1)}`)) }),
    };
  }

  /** Returns an alternative for each of several types. */
  #alternatives(types: readonly string[], schema: Schema, place: string): Json {
    const { type: _types, description, ...others } = schema;
    return {
      ...(description !== undefined && { description }),
      anyOf: types.map((type) => (type === 'null' ? { type } : this.refer({ type, ...others }, place))),
    };
  }
}
