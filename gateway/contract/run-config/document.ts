import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { durationText } from '../duration.ts';
import { DURATION_PATTERN } from '../fields.ts';
import type { Problem } from '../problem.ts';
import { RunConfig, SCHEMA_VERSION } from './run-config.ts';
import { isObject } from '../json.ts';

interface Shape {
  readonly type?: string;
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly patternProperties?: Readonly<Record<string, Shape>>;
  readonly items?: Shape;
}

/** Members that hold a secret, unless they name one as `NAME,target=TARGET`. */
const SECRET_MEMBERS: readonly (readonly [string, string])[] = [
  ['oidc_config', 'clientSecret'],
  ['remote_auth_config', 'client_secret'],
  ['remote_auth_config', 'bearer_token'],
  ['token_exchange_config', 'client_secret'],
];

const SECRET_REFERENCE = /^[^,\s]+,target=[^,\s]+$/;

/** Converts durations to strings and removes declared members that are null. Leaves other values to validation. */
function normalise(shape: Shape, value: unknown): unknown {
  if (shape.pattern === DURATION_PATTERN) return durationText(value) ?? value;
  if (Array.isArray(value) && shape.items) {
    const { items } = shape;
    return value.map((item) => normalise(items, item));
  }
  if (!isObject(value)) return value;
  const free = Object.values(shape.patternProperties ?? {})[0];
  const entries = Object.entries(value)
    .filter(([name, member]) => !(member === null && shape.properties && Object.hasOwn(shape.properties, name)))
    .map(([name, member]) => {
      const declared = shape.properties && Object.hasOwn(shape.properties, name) ? shape.properties[name] : free;
      return [name, declared ? normalise(declared, member) : member] as const;
    });
  return Object.fromEntries(entries);
}

const toPath = (pointer: string): string =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : path ? `${path}.${part}` : part), '');

function toProblems(schema: TSchema, config: unknown): Problem[] {
  return Value.Errors(schema, config).flatMap((error): Problem[] => {
    const path = toPath(error.instancePath);
    const member = (name: string) => (path ? `${path}.${name}` : name);
    switch (error.keyword) {
      case 'boolean':
        return [];
      case 'additionalProperties':
        return error.params.additionalProperties.map((name) => ({
          reason: 'UnknownField',
          path: member(name),
          message: `there is no field "${name}" here: remove it, or correct its name`,
        }));
      case 'required':
        return error.params.requiredProperties.map((name) => ({
          reason: 'MissingField',
          path: member(name),
          message: `set ${member(name)}`,
        }));
      case 'type':
        return [{ reason: 'InvalidType', path, message: `must be ${String(error.params.type)}` }];
      case 'pattern':
        return [{ reason: 'InvalidValue', path, message: 'must be a duration such as 30s or 1h30m' }];
      default:
        return [{ reason: 'InvalidValue', path, message: error.message }];
    }
  });
}

function unsupportedVersion(path: string, version: unknown): Problem[] {
  if (typeof version !== 'string' || version === SCHEMA_VERSION) return [];
  const message = `schema_version "${version}" is unknown; this program reads ${SCHEMA_VERSION}`;
  return [{ reason: 'UnknownSchemaVersion', path, message }];
}

/**
 * Reads a Run configuration from parsed JSON, also as other programs write it: durations as text, as objects or as
 * integer nanoseconds, absent members as null. Rejects an unknown `schema_version` without further validation.
 */
export const importRunConfig = (json: unknown): { readonly config: RunConfig } | { readonly problems: Problem[] } =>
  readDocument(RunConfig, json);

/** Reads a document like `importRunConfig`, for a schema that extends the Run configuration. */
export function readDocument<Schema extends TSchema>(
  schema: Schema,
  json: unknown,
): { readonly config: Static<Schema> } | { readonly problems: Problem[] } {
  if (!isObject(json)) {
    return { problems: [{ reason: 'InvalidType', path: '', message: 'must be an object' }] };
  }
  const embedded = json['embedded_auth_server_config'];
  const versions = [
    ...unsupportedVersion('schema_version', json['schema_version']),
    ...unsupportedVersion(
      'embedded_auth_server_config.schema_version',
      isObject(embedded) ? embedded['schema_version'] : undefined,
    ),
  ];
  if (versions.length > 0) return { problems: versions };
  const config = normalise(schema, json);
  return Value.Check(schema, config) ? { config } : { problems: toProblems(schema, config) };
}

/**
 * Exports a Run configuration: members in the order of the schema, without members of a larger document (such as
 * `vmcp`) and without secret values.
 */
export function exportRunConfig(config: RunConfig): RunConfig {
  const known = Object.keys(RunConfig.properties).flatMap((name) => {
    const value: unknown = config[name as keyof RunConfig];
    return value === undefined ? [] : [[name, structuredClone(value)] as const];
  });
  const exported: Record<string, unknown> = Object.fromEntries(known);
  for (const [block, member] of SECRET_MEMBERS) {
    const holder = exported[block];
    if (!isObject(holder)) continue;
    const secret = holder[member];
    if (typeof secret === 'string' && !SECRET_REFERENCE.test(secret)) {
      exported[block] = Object.fromEntries(Object.entries(holder).filter(([name]) => name !== member));
    }
  }
  return Value.Parse(RunConfig, exported);
}
