import type { ObjectProblem } from '../../resolve/problems.ts';
import type { MCPServer } from '../../resolve/snapshot.ts';
import { validityCondition, type ConditionState } from '../condition-state.ts';
import type { Self } from '../message.ts';

type Spec = MCPServer['spec'];

/** Condition of one control of an MCPServer, present while the spec has the field. */
interface ControlRow {
  readonly field: 'authzConfigRef' | 'oidcConfigRef' | 'rateLimiting' | 'telemetryConfigRef' | 'webhookConfigRef';
  readonly type: string;
  readonly good: string;
  /** Kind of the object that the field names. */
  readonly kind?: string;
  /** Reason for a name that no object has. */
  readonly missing?: string;
  /** Reason for an object that cannot be used. Without it the problem has its own reason in the condition. */
  readonly unusable?: string;
}

const ROWS: readonly ControlRow[] = [
  {
    field: 'oidcConfigRef',
    type: 'OIDCConfigRefValidated',
    good: 'OIDCConfigRefValid',
    kind: 'MCPOIDCConfig',
    missing: 'OIDCConfigRefNotFound',
    unusable: 'OIDCConfigRefNotValid',
  },
  {
    field: 'authzConfigRef',
    type: 'AuthzConfigRefValidated',
    good: 'AuthzConfigRefValid',
    kind: 'MCPAuthzConfig',
    missing: 'AuthzConfigRefNotFound',
    unusable: 'AuthzConfigRefNotValid',
  },
  {
    field: 'telemetryConfigRef',
    type: 'TelemetryConfigRefValidated',
    good: 'TelemetryConfigRefValid',
    kind: 'MCPTelemetryConfig',
    missing: 'TelemetryConfigRefNotFound',
    unusable: 'TelemetryConfigRefInvalid',
  },
  {
    field: 'webhookConfigRef',
    type: 'WebhookConfigValidated',
    good: 'WebhookConfigValid',
    kind: 'MCPWebhookConfig',
    missing: 'WebhookConfigRefNotFound',
    unusable: 'WebhookConfigInvalid',
  },
  {
    field: 'rateLimiting',
    type: 'RateLimitConfigValid',
    good: 'RateLimitConfigValid',
  },
];

const isAbout = ({ field, kind }: ControlRow, problem: ObjectProblem): boolean =>
  problem.reason !== 'NotSupportedYet' &&
  (problem.kind === kind || new RegExp(`^spec\\.${field}(?![A-Za-z])`, 'u').test(problem.path));

const rowsFor = (spec: Spec): ControlRow[] => ROWS.filter(({ field }) => spec[field] !== undefined);

/** Returns true for a problem that has a condition of its own. */
export const isAboutControl = (problem: ObjectProblem, spec: Spec | undefined): boolean =>
  spec !== undefined && rowsFor(spec).some((row) => isAbout(row, problem));

/** Builds the conditions of the controls that the spec has. */
export const controlConditions = (spec: Spec, problems: readonly ObjectProblem[], self: Self): ConditionState[] =>
  rowsFor(spec).map((row) => {
    const { field, type, kind, missing, unusable } = row;
    const ref = spec[field] as { readonly name?: string } | undefined;
    const message = kind === undefined ? 'the limits apply' : `${kind} "${ref?.name ?? ''}" is used`;
    const about = problems.filter((problem) => isAbout(row, problem));
    const reasonOf = ({ reason }: ObjectProblem): string => (reason === missing ? reason : (unusable ?? reason));
    return validityCondition(type, { reason: row.good, message }, about, reasonOf, self);
  });
