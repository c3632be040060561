import { readdirSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { KINDS } from '../../../crds/kinds/index.ts';
import { STRATEGIES } from '../../../gateway/outgoing/index.ts';
import { loadManifests, type Manifests } from '../../source/files/load.ts';
import {
  CLUSTER_FIELDS,
  isClusterField,
  reportClusterFields,
  checkUnbuilt,
  UNBUILT_FIELDS,
  unbuiltStrategy,
} from './controls.ts';
import { covers, occurrences, type FieldPattern, parsePath, valueAt } from './field-path.ts';
import { type ObjectProblem, reportInto, type Platform } from '../scope.ts';
import { resolveAll } from '../resolve-all.ts';
import { objectsOf, type Resource } from '../snapshot.ts';

type KindName = Resource['kind'];

interface Schema {
  readonly type?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

/** Lists every field of a schema that has no fields below it. */
function leaves(schema: Schema, path: FieldPattern): { path: FieldPattern; schema: Schema }[] {
  const members = Object.entries(schema.properties ?? {});
  if (members.length > 0) return members.flatMap(([name, member]) => leaves(member, `${path}.${name}`));
  const free = Object.values(schema.patternProperties ?? {})[0];
  if (free) return leaves(free, `${path}{}`);
  return schema.items ? leaves(schema.items, `${path}[]`) : [{ path, schema }];
}

const FIELDS = KINDS.flatMap(({ kind, schema }) => {
  const { spec } = (schema as Schema).properties ?? {};
  return leaves(spec ?? {}, 'spec').map((leaf) => ({ kind, ...leaf }));
});

/** Descriptive fields, and fields that repeat another one and are rejected when they differ. */
const DESCRIPTIVE: readonly string[] = [
  'MCPExternalAuthConfig spec.embeddedAuthServer.upstreamProviders[].type',
  'MCPServer spec.authServerRef.kind',
  'MCPAuthzConfig spec.type',
  'MCPGroup spec.description',
  'MCPServer spec.volumes[].name',
  'VirtualMCPServer spec.authServerConfig.upstreamProviders[].type',
  'VirtualMCPServer spec.config.name',
  'VirtualMCPServer spec.config.groupRef',
];
/** Fields that a rule of the kind always rejects. */
const REFUSED: readonly string[] = [
  'VirtualMCPServer spec.config.backends',
  'VirtualMCPServer spec.config.sessionStorage',
];
const isListed = (list: readonly string[], kind: KindName, path: FieldPattern): boolean =>
  list.some((entry) => entry.startsWith(`${kind} `) && covers(entry.slice(kind.length + 1), path));

function isUnbuilt(kind: KindName, path: FieldPattern): boolean {
  const isUnbuiltStrategy = STRATEGIES.some(
    ({ type }) => unbuiltStrategy(type) !== undefined && covers(`spec.${type}`, path),
  );
  if (kind === 'MCPExternalAuthConfig' && isUnbuiltStrategy) return true;
  return UNBUILT_FIELDS.some((row) => row.kind === kind && covers(row.pattern, path));
}

const dir = new URL('../testdata/', import.meta.url).pathname;
const inputs: { manifests: Manifests; platforms: Platform[] }[] = [];
const facts = { secretsDir: '/s', configMapsDir: '/c' };

beforeAll(async () => {
  for (const file of readdirSync(dir).filter((name) => name.endsWith('.in.yaml'))) {
    const manifests = await loadManifests([dir + file]);
    inputs.push({
      manifests,
      platforms: [
        { mode: 'local', ...facts },
        { mode: 'local', ...facts, containerEngine: false },
        { mode: 'cluster', ...facts },
      ],
    });
  }
});

/** Returns true when an accepted object of the golden inputs sets the field. */
const isInGoldens = (kind: KindName, pattern: FieldPattern): boolean =>
  inputs.some(({ manifests }) =>
    resourcesOf(manifests).some((object) => object.kind === kind && occurrences(object, pattern).length > 0),
  );

const resourcesOf = ({ snapshots }: Manifests): Resource[] => [...snapshots.values()].flatMap((s) => objectsOf(s));

/** Lists other values for a field. */
function alternatives(value: unknown, schema: Schema): unknown[] {
  if (schema.enum) return [...schema.enum.filter((other) => other !== value), undefined];
  if (typeof value === 'boolean') return [!value, undefined];
  if (typeof value === 'number') return [value + 1, undefined];
  return typeof value === 'string' ? [`${value}x`, undefined] : [undefined];
}

/** Returns true when a golden outcome changes with the field. */
function hasEffect(kind: KindName, pattern: FieldPattern, schema: Schema): boolean {
  return inputs.some(({ manifests, platforms }) =>
    resourcesOf(manifests)
      .filter((object) => object.kind === kind)
      .some((object) =>
        occurrences(object, pattern).some(({ path, value }) =>
          platforms.some((platform) => changes(manifests, platform, object, path, alternatives(value, schema))),
        ),
      ),
  );
}

/** Outcomes of the unchanged inputs, each on its own platforms. */
const baselines = new WeakMap<Platform, string>();

/** Returns true when one of the other values at `path` changes the outcome. */
function changes(
  manifests: Manifests,
  platform: Platform,
  object: Resource,
  path: string,
  others: readonly unknown[],
): boolean {
  const steps = parsePath(path);
  const parent = valueAt(object, steps.slice(0, -1)) as Record<string, unknown>;
  const member = String(steps.at(-1));
  const value = parent[member];
  const outcome = (): string => {
    const { servers, ownGateways } = resolveAll(manifests, platform);
    return JSON.stringify([servers, ownGateways]);
  };
  const before = baselines.get(platform) ?? outcome();
  baselines.set(platform, before);
  try {
    return others.some((other) => {
      if (other === undefined) Reflect.deleteProperty(parent, member);
      else parent[member] = other;
      try {
        return outcome() !== before;
      } catch {
        return false; // validation would reject such an object
      }
    });
  } finally {
    parent[member] = value;
  }
}

describe('every accepted field has an effect', () => {
  it.each(FIELDS)('$kind $path', ({ kind, path, schema }) => {
    const accountedFor =
      isUnbuilt(kind, path) || isClusterField(kind, path) || isListed([...DESCRIPTIVE, ...REFUSED], kind, path);
    expect(accountedFor || hasEffect(kind, path, schema), `${kind} ${path} is neither mapped nor listed`).toBe(true);
  });

  it.each(UNBUILT_FIELDS)(
    '$kind $pattern is a field of the schema and is refused when it is set',
    ({ kind, pattern, isInert }) => {
      expect(FIELDS.some((field) => field.kind === kind && covers(pattern, field.path))).toBe(true);
      const values = ['set', { enabled: true, provider: 'kvstore' }];
      const value = values.find((candidate) => !isInert?.(candidate));
      const problems: ObjectProblem[] = [];
      checkUnbuilt(objectWith(kind, pattern, value), reportInto({ kind, namespace: 'n', name: 'x' }, problems, []));
      expect(problems).toMatchObject([{ reason: 'NotSupportedYet', path: pattern.replaceAll('[]', '[0]') }]);
    },
  );

  it.each(CLUSTER_FIELDS)(
    '$kind $pattern is a field of the schema and is announced when it is set',
    ({ kind, pattern, default: byDefault }) => {
      const below = FIELDS.filter((field) => field.kind === kind && covers(pattern, field.path));
      expect(below).not.toEqual([]);
      if (byDefault !== undefined) expect(below[0]?.schema.default).toBe(byDefault);
      const warnings: ObjectProblem[] = [];
      reportClusterFields(
        objectWith(kind, pattern, 'set'),
        reportInto({ kind, namespace: 'n', name: 'x' }, [], warnings),
      );
      expect(warnings).toMatchObject([{ reason: 'ClusterOnly', path: pattern }]);
    },
  );

  it('rejects exactly the strategies that are not built', () => {
    expect(STRATEGIES.filter(({ type }) => unbuiltStrategy(type))).toEqual([]);
    expect(unbuiltStrategy('obo')).toMatchObject({ reason: 'NotSupportedYet', path: 'spec.type' });
  });
});

/** Returns an object with a single field. */
function objectWith(kind: KindName, pattern: FieldPattern, value: unknown): Resource {
  const steps = pattern.match(/[^.[\]{}]+|\[\]/gu) ?? [];
  const root = steps.reduceRight((inner: unknown, step) => (step === '[]' ? [inner] : { [step]: inner }), value);
  return { kind, metadata: { name: 'x' }, ...(root as object) } as unknown as Resource;
}

/** Fields that every golden input set must cover. */
const SPECIFICATION: Readonly<Record<string, readonly FieldPattern[]>> = {
  VirtualMCPServer: [
    'spec.groupRef.name',
    'spec.incomingAuth.type',
    'spec.incomingAuth.oidcConfig.type',
    'spec.incomingAuth.oidcConfig.inline.issuer',
    'spec.incomingAuth.oidcConfig.inline.clientId',
    'spec.incomingAuth.oidcConfig.inline.audience',
    'spec.incomingAuth.oidcConfig.inline.clientSecretRef.name',
    'spec.incomingAuth.oidcConfig.inline.clientSecretRef.key',
    'spec.incomingAuth.oidcConfig.kubernetes.audience',
    'spec.incomingAuth.oidcConfig.kubernetes.issuer',
    'spec.incomingAuth.oidcConfigRef.name',
    'spec.incomingAuth.audience',
    'spec.outgoingAuth.source',
    'spec.outgoingAuth.backends{}.type',
    'spec.outgoingAuth.backends{}.externalAuthConfigRef.name',
    'spec.authServerConfig.issuer',
    'spec.authServerConfig.authorizationEndpointBaseUrl',
    'spec.authServerConfig.signingKeySecretRefs[].name',
    'spec.authServerConfig.signingKeySecretRefs[].key',
    'spec.authServerConfig.hmacSecretRefs[].name',
    'spec.authServerConfig.hmacSecretRefs[].key',
    'spec.authServerConfig.tokenLifespans.accessTokenLifespan',
    'spec.authServerConfig.tokenLifespans.refreshTokenLifespan',
    'spec.authServerConfig.tokenLifespans.authCodeLifespan',
    'spec.authServerConfig.storage',
    'spec.authServerConfig.upstreamProviders[].name',
    'spec.authServerConfig.upstreamProviders[].type',
    ...[
      'authorizationEndpoint',
      'tokenEndpoint',
      'clientId',
      'clientSecretRef.name',
      'clientSecretRef.key',
      'scopes[]',
      'userInfo.endpointUrl',
      'userInfo.httpMethod',
      'userInfo.additionalHeaders{}',
      'userInfo.fieldMapping.subjectFields[]',
      'userInfo.fieldMapping.nameFields[]',
      'userInfo.fieldMapping.emailFields[]',
      'tokenResponseMapping.accessTokenPath',
      'tokenResponseMapping.scopePath',
      'tokenResponseMapping.refreshTokenPath',
      'tokenResponseMapping.expiresInPath',
    ].map((member) => `spec.authServerConfig.upstreamProviders[].oauth2Config.${member}`),
    ...['issuerUrl', 'clientId', 'clientSecretRef.name', 'clientSecretRef.key', 'scopes[]'].map(
      (member) => `spec.authServerConfig.upstreamProviders[].oidcConfig.${member}`,
    ),
  ],
  MCPExternalAuthConfig: [
    'spec.type',
    'spec.upstreamInject.providerName',
    'spec.tokenExchange.tokenUrl',
    'spec.tokenExchange.clientId',
    'spec.tokenExchange.clientSecretRef.name',
    'spec.tokenExchange.clientSecretRef.key',
    'spec.tokenExchange.audience',
    'spec.tokenExchange.scopes[]',
    'spec.tokenExchange.subjectProviderName',
  ],
  MCPServer: ['spec.image', 'spec.transport', 'spec.groupRef.name', 'spec.externalAuthConfigRef.name'],
  MCPGroup: ['metadata.name'],
  MCPOIDCConfig: ['spec.type', 'spec.inline.issuer'],
  MCPTelemetryConfig: ['spec.openTelemetry.endpoint', 'spec.openTelemetry.sensitiveHeaders[].secretKeyRef.key'],
};

describe('golden inputs', () => {
  const rows = Object.entries(SPECIFICATION).flatMap(([kind, patterns]) =>
    patterns.map((pattern) => ({ kind: kind as KindName, pattern })),
  );

  it.each(rows)('set $kind $pattern', ({ kind, pattern }) => {
    expect(isInGoldens(kind, pattern)).toBe(true);
  });
});
