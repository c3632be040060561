import { CLUSTER_PLATFORM } from '../render/options.ts';
import {
  type CheckResult,
  checkMCPOIDCConfig,
  checkMCPExternalAuthConfig,
  checkMCPAuthzConfig,
  checkMCPTelemetryConfig,
  checkMCPWebhookConfig,
  checkMCPToolConfig,
} from '../resolve/objects.ts';
import type { ObjectProblem, Platform } from '../resolve/scope.ts';
import type { Snapshot } from '../resolve/snapshot.ts';
import { advisoryConditions, validityCondition, buildStatus, type ObjectStatus } from './conditions.ts';
import { digest } from './same-status.ts';
import type { SharedObjectInput } from './input.ts';
import { readinessWithoutPods } from './progress.ts';
import { deletionConditions } from './references.ts';

/** A config kind as its status needs it. */
export interface ConfigKind<Config> {
  /** Returns the object of this name; undefined for one that the schema rejects. */
  readonly find: (snapshot: Snapshot, name: string) => Config | undefined;
  readonly check: (config: Config, snapshot: Snapshot, platform: Platform) => CheckResult;
  /** Reason and message of `Valid` while it is true. */
  readonly good?: { readonly reason: string; readonly message: string };
  /** Returns the reason of `Valid` while it is false. `isRefused` is true for a problem of the schema. */
  readonly reasonOf?: (problem: ObjectProblem, isRefused: boolean) => string;
}

const GOOD = { reason: 'ConfigValid', message: 'the config can be used' };

/** Returns the function that builds the statuses of a config kind. */
const configStatus =
  <Config>({ find, check, good = GOOD, reasonOf = () => 'ConfigInvalid' }: ConfigKind<Config>) =>
  ({ object, snapshot, refused = [], deletion, now }: SharedObjectInput): ObjectStatus => {
    const self = { kind: object.kind, name: object.metadata.name };
    const config = find(snapshot, self.name);
    const found = config ? check(config, snapshot, CLUSTER_PLATFORM) : { problems: [], warnings: [] };
    const problems = [...refused, ...found.problems];
    const valid = validityCondition(
      'Valid',
      good,
      problems,
      (problem) => reasonOf(problem, refused.includes(problem)),
      self,
    );
    const states = [
      valid,
      ...readinessWithoutPods(valid, problems, self),
      ...advisoryConditions(found.warnings, self),
      ...deletionConditions(deletion),
    ];
    return buildStatus(object, states, now, {
      ready: problems.length === 0,
      configHash: digest(object['spec'] ?? null),
    });
  };

export const mcpOIDCConfigStatus = configStatus({
  find: ({ oidcConfigs }, name) => oidcConfigs.get(name),
  check: checkMCPOIDCConfig,
});

/** Reason of an object that the schema rejects, and of one that is well formed but unusable here. */
export const REFUSED = 'ValidationFailed';
export const INVALID = 'InvalidConfig';

export const mcpExternalAuthConfigStatus = configStatus({
  find: ({ externalAuthConfigs }, name) => externalAuthConfigs.get(name),
  check: checkMCPExternalAuthConfig,
  good: { reason: 'ValidationSucceeded', message: 'the config can be used' },
  reasonOf: (_problem, isRefused) => (isRefused ? REFUSED : INVALID),
});

export const mcpAuthzConfigStatus = configStatus({
  find: ({ authzConfigs }, name) => authzConfigs.get(name),
  check: checkMCPAuthzConfig,
  good: { reason: 'ConfigValid', message: 'the policies can be used' },
  reasonOf: ({ reason }) => (reason === 'AuthzInvalid' ? reason : 'ConfigInvalid'),
});

export const mcpTelemetryConfigStatus = configStatus({
  find: ({ telemetryConfigs }, name) => telemetryConfigs.get(name),
  check: checkMCPTelemetryConfig,
});

export const mcpWebhookConfigStatus = configStatus({
  find: ({ webhookConfigs }, name) => webhookConfigs.get(name),
  check: checkMCPWebhookConfig,
});

export const mcpToolConfigStatus = configStatus({
  find: ({ toolConfigs }, name) => toolConfigs.get(name),
  check: checkMCPToolConfig,
  good: { reason: 'ValidationSucceeded', message: 'the config can be used' },
  reasonOf: () => 'ValidationFailed',
});
