import { CLUSTER_PLATFORM } from '../render/options.ts';
import type { CheckResult } from '../resolve/objects.ts';
import type { ObjectProblem } from '../resolve/problems.ts';
import type { Platform } from '../resolve/scope.ts';
import type { Snapshot } from '../resolve/snapshot.ts';
import { advisoryConditions, validityCondition } from './condition-state.ts';
import { buildStatus, type ObjectStatus } from './conditions.ts';
import { digest } from './digest.ts';
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
export const configStatus =
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
