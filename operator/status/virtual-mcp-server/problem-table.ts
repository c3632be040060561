import { CONSEQUENCE_REASON, type ObjectProblem } from '../../resolve/scope.ts';

type ConfigKind = 'MCPOIDCConfig' | 'MCPAuthzConfig' | 'MCPTelemetryConfig' | 'MCPWebhookConfig' | 'MCPToolConfig';

/** Condition of a VirtualMCPServer that a problem makes false, and its reason. */
export interface ProblemRow {
  readonly type: string;
  readonly reason: string;
  /** Kind of the object that has the problem. */
  readonly kind: 'VirtualMCPServer' | ConfigKind;
  /** A problem must match both when both are given. */
  readonly path?: RegExp;
  readonly reasons?: readonly string[];
}

const MISSING = [
  'SecretNotFound',
  'SecretKeyNotFound',
  'ConfigMapNotFound',
  'ConfigMapKeyNotFound',
  'CABundleRefInvalid',
];
const GROUP = /^spec\.groupRef\b/u;
const OIDC_REF = /^spec\.incomingAuth\.oidcConfigRef\.name$/u;
const AUTHZ_REF = /^spec\.incomingAuth\.authzConfigRef\.name$/u;
const AUTHZ_CONFIG_MAP = /^spec\.incomingAuth\.authzConfig\.configMap\b/u;
const AUTHZ_CONFIG = /^spec\.incomingAuth\.authzConfig\b/u;
const TELEMETRY_REF = /^spec\.telemetryConfigRef\.name$/u;
const WEBHOOK_REF = /^spec\.webhookConfigRef\.name$/u;
const TOOL_REF = /^spec\.config\.aggregation\.tools\[\d+\]\.toolConfigRef\.name$/u;
const AUTH_SERVER = /^spec\.authServer(Config|UpstreamFilter)\b/u;

/** The first matching row per type applies. Problems that match no row make `Valid` false. */
export const PROBLEM_TABLE: readonly ProblemRow[] = [
  {
    type: 'GroupRefValidated',
    reason: 'GroupRefNotFound',
    kind: 'VirtualMCPServer',
    path: GROUP,
    reasons: ['GroupRefNotFound'],
  },
  {
    type: 'GroupRefValidated',
    reason: 'GroupRefNotReady',
    kind: 'VirtualMCPServer',
    path: GROUP,
    reasons: ['GroupRefNotReady', CONSEQUENCE_REASON],
  },
  ...referenceRows({
    type: 'OIDCConfigRefValidated',
    kind: 'MCPOIDCConfig',
    path: OIDC_REF,
    missing: 'OIDCConfigRefNotFound',
    unusable: 'OIDCConfigRefNotValid',
    reasons: ['IssuerMismatch'],
  }),
  ...referenceRows({
    type: 'AuthzConfigRefValidated',
    kind: 'MCPAuthzConfig',
    path: AUTHZ_REF,
    missing: 'AuthzConfigRefNotFound',
    unusable: 'AuthzConfigRefNotValid',
  }),
  {
    type: 'AuthConfigured',
    reason: 'AuthzConfigMapNotFound',
    kind: 'VirtualMCPServer',
    path: AUTHZ_CONFIG_MAP,
    reasons: MISSING,
  },
  {
    type: 'AuthConfigured',
    reason: 'AuthzConfigMapInvalid',
    kind: 'VirtualMCPServer',
    path: AUTHZ_CONFIG_MAP,
    reasons: ['AuthzInvalid'],
  },
  { type: 'AuthConfigured', reason: 'AuthzInvalid', kind: 'VirtualMCPServer', reasons: ['AuthzInvalid'] },
  ...referenceRows({
    type: 'TelemetryConfigRefValidated',
    kind: 'MCPTelemetryConfig',
    path: TELEMETRY_REF,
    missing: 'TelemetryConfigRefNotFound',
    unusable: 'TelemetryConfigRefInvalid',
  }),
  ...referenceRows({
    type: 'WebhookConfigValidated',
    kind: 'MCPWebhookConfig',
    path: WEBHOOK_REF,
    missing: 'WebhookConfigRefNotFound',
    unusable: 'WebhookConfigInvalid',
  }),
  ...referenceRows({
    type: 'ToolConfigRefValidated',
    kind: 'MCPToolConfig',
    path: TOOL_REF,
    missing: 'ToolConfigRefNotFound',
    unusable: 'ToolConfigRefNotValid',
  }),
  { type: 'AuthConfigured', reason: 'AuthInvalid', kind: 'VirtualMCPServer', reasons: MISSING },
  {
    type: 'AuthConfigured',
    reason: 'AuthInvalid',
    kind: 'VirtualMCPServer',
    path: AUTHZ_CONFIG,
    reasons: ['UpstreamProviderUnknown'],
  },
  { type: 'AuthConfigured', reason: 'AuthInvalid', kind: 'MCPOIDCConfig', reasons: MISSING },
  { type: 'AuthConfigured', reason: 'AuthInvalid', kind: 'MCPWebhookConfig', reasons: MISSING },
  { type: 'AuthServerConfigValidated', reason: 'AuthServerConfigInvalid', kind: 'VirtualMCPServer', path: AUTH_SERVER },
  {
    type: 'AuthServerConfigValidated',
    reason: 'AuthServerConfigInvalid',
    kind: 'VirtualMCPServer',
    reasons: ['AudienceMismatch', 'IssuerMismatch', 'ReplicasShareNothing'],
  },
];

/** Condition of the references to a config kind. */
interface ConfigReference {
  readonly type: string;
  readonly kind: ConfigKind;
  /** Field that holds the name. */
  readonly path: RegExp;
  /** Reason for a name that no object has. */
  readonly missing: string;
  /** Reason for an object that cannot be used. */
  readonly unusable: string;
  /** Further problems of the field that make the object unusable. */
  readonly reasons?: readonly string[];
}

function referenceRows({ type, kind, path, missing, unusable, reasons = [] }: ConfigReference): ProblemRow[] {
  return [
    { type, reason: missing, kind: 'VirtualMCPServer', path, reasons: [missing] },
    { type, reason: unusable, kind: 'VirtualMCPServer', path, reasons: [CONSEQUENCE_REASON, ...reasons] },
    { type, reason: unusable, kind },
  ];
}

/** Returns the rows that a problem matches, at most one per condition. */
export function rowsOf(problem: ObjectProblem): readonly ProblemRow[] {
  if (problem.reason === 'NotSupportedYet') return [];
  const rows = PROBLEM_TABLE.filter(
    ({ kind, path, reasons }) =>
      kind === problem.kind && (path?.test(problem.path) ?? true) && (reasons?.includes(problem.reason) ?? true),
  );
  return rows.filter((row, index) => rows.findIndex(({ type }) => type === row.type) === index);
}

/** Warning with a condition of its own, which is true while the warning applies. */
export interface WarningRow {
  readonly type: string;
  readonly warning: string;
  readonly reason: string;
  /** Reason and message while the warning does not apply. */
  readonly good: { readonly reason: string; readonly message: string };
  /** Part of the spec that the condition describes. Without that part there is no condition. */
  readonly about: 'authServer' | 'tokens';
}

export const WARNING_TABLE: readonly WarningRow[] = [
  {
    type: 'SigningKeysEphemeral',
    warning: 'EphemeralKeys',
    reason: 'KeysMadeAtStart',
    good: { reason: 'KeysConfigured', message: 'a restart keeps every key' },
    about: 'authServer',
  },
  {
    type: 'UpstreamStorageInMemory',
    warning: 'EphemeralStorage',
    reason: 'StorageInMemory',
    good: { reason: 'StorageConfigured', message: 'a restart keeps every login' },
    about: 'authServer',
  },
  {
    type: 'IdentitySynthesized',
    warning: 'IdentitySynthesized',
    reason: 'OAuth2UpstreamWithoutUserInfo',
    good: { reason: 'AllUpstreamsHaveUserInfo', message: 'the first provider identifies users' },
    about: 'authServer',
  },
  {
    type: 'TrustedProxiesUnset',
    warning: 'TrustedProxiesUnset',
    reason: 'ClientAddressesUnknown',
    good: { reason: 'TrustedProxiesSet', message: 'limits apply per client address' },
    about: 'authServer',
  },
  {
    type: 'ResourceURLUnset',
    warning: 'ResourceURLUnset',
    reason: 'ServiceNameUsed',
    good: { reason: 'ResourceURLSet', message: 'clients receive the public URL' },
    about: 'tokens',
  },
];

/** Warnings that have a condition of their own. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  ...WARNING_TABLE.map(({ warning }) => warning),
  'SessionStorageMissingForReplicas',
]);

export const isAdvice = ({ reason }: ObjectProblem): boolean => !ELSEWHERE.has(reason);
