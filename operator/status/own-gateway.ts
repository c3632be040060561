import type { ObjectProblem } from '../resolve/scope.ts';
import type { MCPServer, Snapshot } from '../resolve/snapshot.ts';
import { validityCondition, type ConditionState, type Self } from './conditions.ts';
import type { ServerCheck } from '../resolve/objects.ts';
import { digest } from './same-status.ts';

type Spec = MCPServer['spec'];

/** Condition of one control of an MCPServer, present while the spec has the field. */
interface ControlRow {
  readonly field:
    | 'authServerRef'
    | 'authzConfigRef'
    | 'oidcConfigRef'
    | 'rateLimiting'
    | 'telemetryConfigRef'
    | 'webhookConfigRef';
  readonly type: string;
  readonly good: string;
  /** Kind of the object that the field names. */
  readonly kind?: string;
  /** Reasons of problems, and the reasons that the condition has for them. */
  readonly reasons?: Readonly<Record<string, string>>;
  /** Reason for every other problem. Without it the condition has the reason of the problem. */
  readonly unusable?: string;
}

const ROWS: readonly ControlRow[] = [
  {
    field: 'authServerRef',
    type: 'AuthServerRefValidated',
    good: 'AuthServerRefValid',
    kind: 'MCPExternalAuthConfig',
    reasons: { ExternalAuthConfigRefNotFound: 'AuthServerRefNotFound', InvalidType: 'AuthServerRefInvalidType' },
    unusable: 'AuthServerRefInvalidConfig',
  },
  {
    field: 'oidcConfigRef',
    type: 'OIDCConfigRefValidated',
    good: 'OIDCConfigRefValid',
    kind: 'MCPOIDCConfig',
    reasons: { OIDCConfigRefNotFound: 'OIDCConfigRefNotFound' },
    unusable: 'OIDCConfigRefNotValid',
  },
  {
    field: 'authzConfigRef',
    type: 'AuthzConfigRefValidated',
    good: 'AuthzConfigRefValid',
    kind: 'MCPAuthzConfig',
    reasons: { AuthzConfigRefNotFound: 'AuthzConfigRefNotFound' },
    unusable: 'AuthzConfigRefNotValid',
  },
  {
    field: 'telemetryConfigRef',
    type: 'TelemetryConfigRefValidated',
    good: 'TelemetryConfigRefValid',
    kind: 'MCPTelemetryConfig',
    reasons: { TelemetryConfigRefNotFound: 'TelemetryConfigRefNotFound' },
    unusable: 'TelemetryConfigRefInvalid',
  },
  {
    field: 'webhookConfigRef',
    type: 'WebhookConfigValidated',
    good: 'WebhookConfigValid',
    kind: 'MCPWebhookConfig',
    reasons: { WebhookConfigRefNotFound: 'WebhookConfigRefNotFound' },
    unusable: 'WebhookConfigInvalid',
  },
  {
    field: 'rateLimiting',
    type: 'RateLimitConfigValid',
    good: 'RateLimitConfigValid',
  },
];

const nameIn = (spec: Spec, { field }: ControlRow): string | undefined =>
  (spec[field] as { readonly name?: string } | undefined)?.name;

function isAbout(row: ControlRow, problem: ObjectProblem, spec: Spec): boolean {
  if (problem.kind === row.kind && problem.name === nameIn(spec, row)) return true;
  return problem.kind === 'MCPServer' && new RegExp(`^spec\\.${row.field}(?![A-Za-z])`, 'u').test(problem.path);
}

const rowsFor = (spec: Spec): ControlRow[] => ROWS.filter(({ field }) => spec[field] !== undefined);

/** Returns true for a problem that has a condition of its own. */
export const isAboutControl = (problem: ObjectProblem, spec: Spec | undefined): boolean =>
  spec !== undefined && rowsFor(spec).some((row) => isAbout(row, problem, spec));

/** Builds the conditions of the controls that the spec has. */
export const controlConditions = (spec: Spec, problems: readonly ObjectProblem[], self: Self): ConditionState[] =>
  rowsFor(spec).map((row) => {
    const { type, kind, reasons = {}, unusable } = row;
    const message = kind === undefined ? 'the limits apply' : `${kind} "${nameIn(spec, row) ?? ''}" is used`;
    const about = problems.filter((problem) => isAbout(row, problem, spec));
    const reasonOf = ({ reason }: ObjectProblem): string => reasons[reason] ?? unusable ?? reason;
    return validityCondition(type, { reason: row.good, message }, about, reasonOf, self);
  });

const MEMBERS = [
  'authServerConfigHash',
  'oidcConfigHash',
  'authzConfigHash',
  'telemetryConfigHash',
  'webhookConfigHash',
] as const;

type Hashes = Readonly<Partial<Record<(typeof MEMBERS)[number], unknown>>>;

/** Returns digests of the configs that the own gateway uses. An invalid spec keeps the previous digests, as the pods do. */
export function gatewayHashes(
  { spec }: MCPServer,
  check: ServerCheck,
  snapshot: Snapshot,
  live: Readonly<Record<string, unknown>>,
): Hashes {
  const { gateway } = check;
  if (!gateway) return {};
  if (!gateway.config) return Object.fromEntries(MEMBERS.map((member) => [member, live[member]]));
  const { authServerRef, oidcConfigRef, telemetryConfigRef, webhookConfigRef } = spec;
  const authServer = authServerRef && snapshot.externalAuthConfigs.get(authServerRef.name);
  const oidc = oidcConfigRef && snapshot.oidcConfigs.get(oidcConfigRef.name);
  const telemetry = telemetryConfigRef && snapshot.telemetryConfigs.get(telemetryConfigRef.name);
  const webhooks = webhookConfigRef && snapshot.webhookConfigs.get(webhookConfigRef.name);
  const { authz_config: policies } = gateway.config;
  return {
    authServerConfigHash: authServer && digest(authServer.spec),
    oidcConfigHash: oidc && digest(oidc.spec),
    authzConfigHash: policies && digest(policies),
    telemetryConfigHash: telemetry && digest(telemetry.spec),
    webhookConfigHash: webhooks && digest(webhooks.spec),
  };
}
