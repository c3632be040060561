import { authorization } from '../../../gateway/policy/authorization.ts';
import { checkPolicies, unknownProvider } from '../../../gateway/policy/authorization/check.ts';
import { AuthorizationConfig } from '../../../gateway/policy/authorization/config.ts';
import { AUTHZ_INVALID } from '../../../gateway/policy/authorization/policy-text.ts';
import { documentName, parseConfigMapDocument } from '../config-maps.ts';
import type { Identified, ObjectScope, Scope } from '../scope.ts';
import type { MCPAuthzConfig } from '../snapshot.ts';

type CedarSpec = Parameters<typeof authorization.resolve>[0];

/** Policies with the place of their texts, for problems. */
interface PolicySource {
  readonly owner: Identified;
  readonly config: AuthorizationConfig;
  /** Converts a path that starts with `policies` or `entities_json`. */
  readonly pathOf: (path: string) => string;
  /** Precedes the messages about a document that is not a resource. */
  readonly document?: string;
}

const AUTHZ = 'spec.incomingAuth.authzConfig';

/** Resolves the policies of a virtual server; undefined without any, and for a source that its reference reports. */
export function resolveAuthorization(scope: Scope): AuthorizationConfig | undefined {
  const { authzConfig: own, authzConfigRef: ref } = scope.vmcp.spec.incomingAuth;
  const shared = ref && scope.snapshot.authzConfigs.get(ref.name);
  const source = shared ? sharedSource(shared) : own && ownSource(scope, own.type);
  if (source) report(source, scope);
  const { primaryUpstreamProvider: provider } = scope.vmcp.spec.authServerConfig ?? {};
  if (!own && !ref && provider !== undefined) {
    const path = 'spec.authServerConfig.primaryUpstreamProvider';
    scope.on(scope.vmcp).warning('NoEffect', path, 'only policies read its claims, and there are none: remove it');
  }
  return source && withProvider(source.config, scope);
}

/** Adds the provider whose token gives the claims. `authServerConfig` takes precedence over the policies' own setting. */
function withProvider(config: AuthorizationConfig, scope: Scope): AuthorizationConfig {
  const { authServerConfig: server, incomingAuth } = scope.vmcp.spec;
  const inline = incomingAuth.authzConfig?.inline?.primaryUpstreamProvider;
  const provider = server?.primaryUpstreamProvider ?? inline ?? config.cedar.primary_upstream_provider;
  if (provider === undefined) return config;
  const providers = (server?.upstreamProviders ?? []).map(({ name }) => name);
  const isInline = server?.primaryUpstreamProvider === undefined && inline !== undefined;
  const path = isInline ? `${AUTHZ}.inline.primaryUpstreamProvider` : AUTHZ;
  const on = scope.on(scope.vmcp);
  if (inline !== undefined) {
    const advice = isInline ? 'move it to' : 'remove it, because it gives way to';
    const message = `deprecated: ${advice} spec.${scope.terms.authServerBlock}.primaryUpstreamProvider`;
    on.warning('AuthzPrimaryUpstreamProviderDeprecated', `${AUTHZ}.inline.primaryUpstreamProvider`, message);
  }
  if (!providers.includes(provider)) {
    const { reason, message } = unknownProvider(provider, path, providers);
    on.problem(reason, path, message);
  }
  return { ...config, cedar: { ...config.cedar, primary_upstream_provider: provider } };
}

/** Checks an MCPAuthzConfig independently of the servers that use it. */
export function checkSharedPolicies(config: MCPAuthzConfig, scope: ObjectScope): void {
  report(sharedSource(config), scope);
}

/** Policies refer to no other object, so they are resolved without the scope that finds others. */
const configOf = (spec: CedarSpec): AuthorizationConfig => authorization.resolve(spec, NO_SCOPE);
const NO_SCOPE = undefined as unknown as Parameters<typeof authorization.resolve>[1];

const below =
  (place: string) =>
  (path: string): string =>
    `${place}.${path.replace(/^entities_json/u, 'entitiesJson')}`;

const sharedSource = (shared: MCPAuthzConfig): PolicySource => ({
  owner: shared,
  config: configOf(shared.spec.config),
  pathOf: below('spec.config'),
});

/** Without the member of its type, which a rule of the kind requires, a server would be open to every user. */
function ownSource(scope: Scope, type = 'configMap'): PolicySource | undefined {
  const { authzConfig: own } = scope.vmcp.spec.incomingAuth;
  const member = type === 'inline' ? own?.inline : own?.configMap;
  if (member) return type === 'inline' ? inlineSource(scope) : configMapSource(scope);
  scope.on(scope.vmcp).problem('MissingField', `${AUTHZ}.${type}`, `set ${type}, as type is ${type}`);
  return undefined;
}

function inlineSource({ vmcp }: Scope): PolicySource | undefined {
  const { inline, configMap: _other, type: _type, ...groups } = vmcp.spec.incomingAuth.authzConfig ?? {};
  if (!inline) return undefined;
  const { primaryUpstreamProvider: _ofProvider, ...cedar } = inline; // see `withProvider`
  return { owner: vmcp, config: configOf({ ...cedar, ...groups }), pathOf: below(`${AUTHZ}.inline`) };
}

/** Reads the document of a ConfigMap. The settings of groups in the resource take precedence. */
function configMapSource(scope: Scope): PolicySource | undefined {
  const { configMap, inline: _other, type: _type, ...groups } = scope.vmcp.spec.incomingAuth.authzConfig ?? {};
  if (!configMap) return undefined;
  const { name, key = 'authz.json' } = configMap;
  const text = scope.snapshot.configMaps.get(name)?.data[key];
  if (text === undefined) return undefined;
  const path = `${AUTHZ}.configMap`;
  const document = documentName(name, key);
  const read = parseConfigMapDocument(AuthorizationConfig, text);
  if ('problems' in read) {
    for (const message of read.problems) scope.on(scope.vmcp).problem(AUTHZ_INVALID, path, `${document}: ${message}`);
    return undefined;
  }
  const { group_claim_name, role_claim_name, group_entity_type } = configOf({ policies: [], ...groups }).cedar;
  const override = {
    ...(group_claim_name !== undefined && { group_claim_name }),
    ...(role_claim_name !== undefined && { role_claim_name }),
    ...(group_entity_type !== undefined && { group_entity_type }),
  };
  const config = { ...read.config, cedar: { ...read.config.cedar, ...override } };
  return { owner: scope.vmcp, config, pathOf: () => path, document };
}

/** Reports policies and entities that cannot be used, and settings without effect. */
function report({ owner, config, pathOf, document }: PolicySource, scope: ObjectScope): void {
  const result = checkPolicies(config.cedar);
  const on = scope.on(owner);
  const messageOf = (path: string, message: string): string =>
    document === undefined ? message : `${document}: cedar.${path}: ${message}`;
  if ('problems' in result) {
    for (const { reason, path, message } of result.problems) on.problem(reason, pathOf(path), messageOf(path, message));
    return;
  }
  for (const { reason, path, message } of result.checked.warnings) {
    on.warning(reason, pathOf(path), messageOf(path, message));
  }
}
