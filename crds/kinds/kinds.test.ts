import { describe, expect, it } from 'vitest';
import { mapValues, type Shape } from './schema/defaults.ts';
import { KINDS } from './index.ts';
import type { Kind } from './schema/kind.ts';

/** Public fields of each kind: kind, path below `spec`, type. `[]` marks a list, `{}` a map. */
const SPECIFICATION = `
VirtualMCPServer groupRef.name string
VirtualMCPServer incomingAuth.type anonymous|oidc
VirtualMCPServer incomingAuth.oidcConfig.type inline|kubernetes
VirtualMCPServer incomingAuth.oidcConfig.inline.issuer string
VirtualMCPServer incomingAuth.oidcConfig.inline.clientId string
VirtualMCPServer incomingAuth.oidcConfig.inline.audience string
VirtualMCPServer incomingAuth.oidcConfig.inline.clientSecretRef.name string
VirtualMCPServer incomingAuth.oidcConfig.inline.clientSecretRef.key string
VirtualMCPServer incomingAuth.oidcConfig.kubernetes.audience string
VirtualMCPServer incomingAuth.oidcConfig.kubernetes.issuer string
VirtualMCPServer incomingAuth.oidcConfigRef.name string
VirtualMCPServer incomingAuth.audience string
VirtualMCPServer outgoingAuth.source discovered|inline
VirtualMCPServer outgoingAuth.backends{}.type discovered|externalAuthConfigRef
VirtualMCPServer outgoingAuth.backends{}.externalAuthConfigRef.name string
VirtualMCPServer authServerConfig.issuer string
VirtualMCPServer authServerConfig.authorizationEndpointBaseUrl string
VirtualMCPServer authServerConfig.signingKeySecretRefs[].name string
VirtualMCPServer authServerConfig.signingKeySecretRefs[].key string
VirtualMCPServer authServerConfig.hmacSecretRefs[].name string
VirtualMCPServer authServerConfig.hmacSecretRefs[].key string
VirtualMCPServer authServerConfig.tokenLifespans.accessTokenLifespan string
VirtualMCPServer authServerConfig.tokenLifespans.refreshTokenLifespan string
VirtualMCPServer authServerConfig.tokenLifespans.authCodeLifespan string
VirtualMCPServer authServerConfig.upstreamProviders[].name string
VirtualMCPServer authServerConfig.upstreamProviders[].type oauth2|oidc
VirtualMCPServer authServerConfig.upstreamProviders[].oauth2Config.authorizationEndpoint string
VirtualMCPServer authServerConfig.upstreamProviders[].oauth2Config.tokenEndpoint string
VirtualMCPServer authServerConfig.upstreamProviders[].oauth2Config.clientId string
VirtualMCPServer authServerConfig.upstreamProviders[].oauth2Config.clientSecretRef.name string
VirtualMCPServer authServerConfig.upstreamProviders[].oauth2Config.clientSecretRef.key string
VirtualMCPServer authServerConfig.upstreamProviders[].oauth2Config.scopes[] string
VirtualMCPServer authServerConfig.upstreamProviders[].oauth2Config.userInfo.endpointUrl string
VirtualMCPServer authServerConfig.upstreamProviders[].oauth2Config.userInfo.httpMethod GET|POST
VirtualMCPServer authServerConfig.upstreamProviders[].oauth2Config.userInfo.additionalHeaders{} string
VirtualMCPServer authServerConfig.upstreamProviders[].oauth2Config.userInfo.fieldMapping.subjectFields[] string
VirtualMCPServer authServerConfig.upstreamProviders[].oauth2Config.userInfo.fieldMapping.nameFields[] string
VirtualMCPServer authServerConfig.upstreamProviders[].oauth2Config.userInfo.fieldMapping.emailFields[] string
VirtualMCPServer authServerConfig.upstreamProviders[].oauth2Config.tokenResponseMapping.accessTokenPath string
VirtualMCPServer authServerConfig.upstreamProviders[].oauth2Config.tokenResponseMapping.scopePath string
VirtualMCPServer authServerConfig.upstreamProviders[].oauth2Config.tokenResponseMapping.refreshTokenPath string
VirtualMCPServer authServerConfig.upstreamProviders[].oauth2Config.tokenResponseMapping.expiresInPath string
VirtualMCPServer authServerConfig.upstreamProviders[].oidcConfig.issuerUrl string
VirtualMCPServer authServerConfig.upstreamProviders[].oidcConfig.clientId string
VirtualMCPServer authServerConfig.upstreamProviders[].oidcConfig.clientSecretRef.name string
VirtualMCPServer authServerConfig.upstreamProviders[].oidcConfig.clientSecretRef.key string
VirtualMCPServer authServerConfig.upstreamProviders[].oidcConfig.scopes[] string
VirtualMCPServer authServerConfig.storage.type memory|kvstore|redis
MCPExternalAuthConfig type unauthenticated|upstreamInject|tokenExchange|headerInjection|cloudSts|embeddedAuthServer
MCPExternalAuthConfig upstreamInject.providerName string
MCPExternalAuthConfig tokenExchange.tokenUrl string
MCPExternalAuthConfig tokenExchange.clientId string
MCPExternalAuthConfig tokenExchange.clientSecretRef.name string
MCPExternalAuthConfig tokenExchange.clientSecretRef.key string
MCPExternalAuthConfig tokenExchange.audience string
MCPExternalAuthConfig tokenExchange.scopes[] string
MCPExternalAuthConfig tokenExchange.subjectProviderName string
MCPServer image string
MCPServer transport stdio|streamable-http|sse
MCPServer groupRef.name string
MCPServer externalAuthConfigRef.name string
MCPOIDCConfig type inline|kubernetes|kubernetesServiceAccount
MCPOIDCConfig inline.issuer string
`
  .trim()
  .split('\n')
  .map((line) => line.split(' ') as [string, string, string]);

const kinds: readonly Kind[] = KINDS;
const shapeOf = (kind: string): Shape => kinds.find((each) => each.kind === kind)?.schema ?? {};
const specOf = (kind: string): Shape => shapeOf(kind).properties?.['spec'] ?? {};

/** Returns the schema at a path of SPECIFICATION. */
function below(shape: Shape | undefined, path: string): Shape | undefined {
  return (path.match(/[^.[\]{}]+|\[\]|\{\}/gu) ?? []).reduce<Shape | undefined>((node, step) => {
    if (step === '[]') return node?.items;
    if (step === '{}') return node && mapValues(node);
    return node?.properties?.[step];
  }, shape);
}

/** Returns every path of a schema with the schema at it. */
function everywhere(shape: Shape, path: string): [string, Shape][] {
  const inner = shape.items ?? mapValues(shape);
  return [
    [path, shape],
    ...(inner ? everywhere(inner, `${path}[]`) : []),
    ...Object.entries(shape.properties ?? {}).flatMap(([name, member]) => everywhere(member, `${path}.${name}`)),
  ];
}

describe('the specification', () => {
  it.each(SPECIFICATION)('%s has spec.%s, %s', (kind, path, type) => {
    const field = below(specOf(kind), path);
    expect(field?.enum?.join('|') ?? field?.type).toBe(type);
  });
});

describe.each(KINDS.map((kind) => [kind.kind, kind] as const))('%s', (name, kind) => {
  const places = everywhere(shapeOf(name), name);

  it('describes every field', () => {
    const undescribed = places.filter(([path, shape]) => !path.endsWith('[]') && (shape.description ?? '').length < 4);
    expect(undescribed.map(([path]) => path)).toEqual([]);
  });

  it('rejects unknown fields except in free-form fields', () => {
    const open = places.filter(
      ([, shape]) => shape.type === 'object' && !mapValues(shape) && shape.additionalProperties !== false,
    );
    const free =
      /podTemplateSpec$|compositeTools\[\]\.(parameters|steps\[\]\.(arguments|schema|step)|output\.properties\[\]\.properties)$|\.(ownerReferences|managedFields)\[\]$/u;
    expect(open.map(([path]) => path).filter((path) => !free.test(path))).toEqual([]);
  });

  it('has conditions, a column for the age, and valid names', () => {
    expect(below(shapeOf(name), 'status.conditions[].type')?.type).toBe('string');
    expect(kind.columns.some(({ type }) => type === 'date')).toBe(true);
    expect([kind.plural, kind.singular]).toEqual([kind.plural.toLowerCase(), name.toLowerCase()]);
    expect(kind.shortNames).not.toContain(kind.singular);
    expect(kind.shortNames).not.toContain(kind.plural);
  });

  it('accepts its own defaults', () => {
    const wrong = places.filter(
      ([, shape]) =>
        shape.default !== undefined &&
        ((shape.enum && !shape.enum.includes(shape.default as string)) ||
          (shape.pattern !== undefined && !new RegExp(shape.pattern, 'u').test(shape.default as string))),
    );
    expect(wrong).toEqual([]);
  });
});

it('no two kinds share a name', () => {
  const names = KINDS.flatMap(({ shortNames, plural, singular }) => [...shortNames, plural, singular]);
  expect(new Set(names).size).toBe(names.length);
});
