import { CONSEQUENCE_REASON, type ObjectProblem } from '../../resolve/problems.ts';

/** Condition of a VirtualMCPServer that a problem makes false, and its reason. */
export interface ProblemRow {
  readonly type: string;
  readonly reason: string;
  /** Kind of the object that has the problem. */
  readonly kind: 'VirtualMCPServer' | 'MCPOIDCConfig' | 'MCPAuthzConfig' | 'MCPTelemetryConfig' | 'MCPWebhookConfig';
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
  {
    type: 'OIDCConfigRefValidated',
    reason: 'OIDCConfigRefNotFound',
    kind: 'VirtualMCPServer',
    path: OIDC_REF,
    reasons: ['OIDCConfigRefNotFound'],
  },
  {
    type: 'OIDCConfigRefValidated',
    reason: 'OIDCConfigRefNotValid',
    kind: 'VirtualMCPServer',
    path: OIDC_REF,
    reasons: [CONSEQUENCE_REASON, 'IssuerMismatch'],
  },
  { type: 'OIDCConfigRefValidated', reason: 'OIDCConfigRefNotValid', kind: 'MCPOIDCConfig' },
  {
    type: 'AuthzConfigRefValidated',
    reason: 'AuthzConfigRefNotFound',
    kind: 'VirtualMCPServer',
    path: AUTHZ_REF,
    reasons: ['AuthzConfigRefNotFound'],
  },
  {
    type: 'AuthzConfigRefValidated',
    reason: 'AuthzConfigRefNotValid',
    kind: 'VirtualMCPServer',
    path: AUTHZ_REF,
    reasons: [CONSEQUENCE_REASON],
  },
  { type: 'AuthzConfigRefValidated', reason: 'AuthzConfigRefNotValid', kind: 'MCPAuthzConfig' },
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
  {
    type: 'TelemetryConfigRefValidated',
    reason: 'TelemetryConfigRefNotFound',
    kind: 'VirtualMCPServer',
    path: TELEMETRY_REF,
    reasons: ['TelemetryConfigRefNotFound'],
  },
  {
    type: 'TelemetryConfigRefValidated',
    reason: 'TelemetryConfigRefInvalid',
    kind: 'VirtualMCPServer',
    path: TELEMETRY_REF,
    reasons: [CONSEQUENCE_REASON],
  },
  { type: 'TelemetryConfigRefValidated', reason: 'TelemetryConfigRefInvalid', kind: 'MCPTelemetryConfig' },
  {
    type: 'WebhookConfigValidated',
    reason: 'WebhookConfigRefNotFound',
    kind: 'VirtualMCPServer',
    path: WEBHOOK_REF,
    reasons: ['WebhookConfigRefNotFound'],
  },
  {
    type: 'WebhookConfigValidated',
    reason: 'WebhookConfigInvalid',
    kind: 'VirtualMCPServer',
    path: WEBHOOK_REF,
    reasons: [CONSEQUENCE_REASON],
  },
  { type: 'WebhookConfigValidated', reason: 'WebhookConfigInvalid', kind: 'MCPWebhookConfig' },
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
