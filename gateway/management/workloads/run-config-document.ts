import { Type, type Static } from 'typebox';
import { exportRunConfig } from '../../contract/run-config/document.ts';
import { DURATION_PATTERN } from '../../contract/fields.ts';
import { isObject } from '../../contract/json.ts';
import { PermissionProfile } from '../../contract/container.ts';
import { RunConfig } from '../../contract/run-config/run-config.ts';
import { withoutSecretValues } from '../../workloads/definition/webhook-secrets.ts';

/** The members of a JSON Schema that nest. */
interface SchemaNode {
  readonly title?: string;
  readonly type?: unknown;
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly patternProperties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
}

const mapValues = <From, To>(map: Readonly<Record<string, From>>, change: (value: From) => To): Record<string, To> =>
  Object.fromEntries(Object.entries(map).map(([name, value]) => [name, change(value)]));

/** Accepts durations as objects and as integer nanoseconds, too: `importRunConfig` converts them. */
function withAnyDuration(schema: SchemaNode): SchemaNode {
  const { title, pattern, properties, patternProperties, items } = schema;
  if (pattern === DURATION_PATTERN) {
    const { pattern: _text, ...rest } = schema;
    return { ...rest, title: 'ImportedDuration', type: ['string', 'integer', 'object'] };
  }
  const accepting = {
    ...schema,
    ...(properties && { properties: mapValues(properties, withAnyDuration) }),
    ...(patternProperties && { patternProperties: mapValues(patternProperties, withAnyDuration) }),
    ...(items && { items: withAnyDuration(items) }),
  };
  const isOther = title !== undefined && JSON.stringify(accepting) !== JSON.stringify(schema);
  return isOther ? { ...accepting, title: `Imported${title}` } : accepting;
}

/** Declares the signing key as a value, which the import refuses with advice. */
const withKey = ({ items, ...list }: SchemaNode = {}): SchemaNode => ({
  ...list,
  items: { ...items, title: 'ImportedWebhook', properties: { ...items?.properties, hmac_secret: REFUSED_KEY } },
});
const REFUSED_KEY = Type.String({
  description: 'Refused: store the key as a secret, and name it in `hmac_secret_ref`.',
});

const { properties = {}, ...imported } = withAnyDuration(RunConfig as object);

/** Run configuration as clients send it. `schema_version` may be absent. */
export const ImportedRunConfig = Type.Unsafe<Record<string, unknown>>({
  ...imported,
  title: 'ImportedRunConfig',
  properties: {
    ...properties,
    mutating_webhooks: withKey(properties['mutating_webhooks']),
    validating_webhooks: withKey(properties['validating_webhooks']),
  },
  required: ['name'],
});

/** Members that an export always has. */
const ALWAYS = { image: '', name: '', transport: '', host: '', port: 0, permission_profile: null };

/** Member that an import takes for true when it is absent. */
const ISOLATION = 'isolate_network';

/** Exported run configuration. */
export const ExportedRunConfig = Type.Object(
  {
    ...RunConfig.properties,
    ...Type.Required(Type.Pick(RunConfig, ['image', 'name', 'transport', 'host', 'port'])).properties,
    permission_profile: Type.Unsafe<PermissionProfile | null>({ ...PermissionProfile, type: ['object', 'null'] }),
  },
  { title: 'RunConfig', additionalProperties: false, description: 'Run configuration of one MCP server.' },
);

/** Returns a run configuration for export: without empty members, except the required ones, and without secret values. */
export function exportedConfig(config: RunConfig): Static<typeof ExportedRunConfig> {
  const exported: Record<string, unknown> = { ...ALWAYS, ...exportRunConfig(config) };
  const { middleware_configs: middlewares } = config;
  if (middlewares) exported['middleware_configs'] = withoutSecretValues(middlewares);
  const names = Object.keys(ExportedRunConfig.properties);
  const isSent = (name: string): boolean =>
    Object.hasOwn(ALWAYS, name) || !isEmpty(exported[name]) || (name === ISOLATION && exported[name] === false);
  return Object.fromEntries(names.filter(isSent).map((name) => [name, exported[name]])) as never;
}

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === '' ||
  value === 0 ||
  value === false ||
  (Array.isArray(value) && value.length === 0) ||
  (isObject(value) && Object.keys(value).length === 0);
