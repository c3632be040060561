import { checkMCPServerEntry } from '../resolve/objects.ts';
import type { ObjectProblem } from '../resolve/scope.ts';
import { DEFAULT_BUNDLE_KEY } from '../resolve/config-maps.ts';
import type { MCPServerEntry, Snapshot } from '../resolve/snapshot.ts';
import {
  advisoryConditions,
  trueCondition,
  validityCondition,
  type ConditionState,
  buildStatus,
  type ObjectStatus,
  cutMessage,
  type Self,
} from './conditions.ts';
import { CLUSTER_PLATFORM } from '../render/options.ts';
import { readinessWithoutPods } from './progress.ts';
import { authConfigProblems, groupCondition, isAboutAuthRef, isAboutGroup } from './references.ts';
import type { StatusInput } from './input.ts';

/** Builds the status of an entry, which has no objects of its own: `ready` means that gateways can use it. */
export function mcpServerEntryStatus({ object, snapshot, refused = [], now }: StatusInput): ObjectStatus {
  const self = { kind: object.kind, name: object.metadata.name };
  const entry = snapshot.entries.get(self.name);
  const found = entry ? checkMCPServerEntry(entry, snapshot, CLUSTER_PLATFORM) : { problems: [], warnings: [] };
  const ofConfig = authConfigProblems(entry?.spec.externalAuthConfigRef?.name, snapshot);
  const problems = [...refused, ...found.problems, ...ofConfig];
  const good = { reason: 'ConfigValid', message: 'gateways can use this entry' };
  const valid = validityCondition('Valid', good, problems, () => 'ConfigInvalid', self);
  const group = entry && groupCondition(entry.spec.groupRef.name, found.problems, 'GroupRefIsValid', self);
  const states = [
    valid,
    ...readinessWithoutPods(valid, problems, self),
    ...(entry && group ? [group, ...conditionsFor(entry, snapshot, found.problems, ofConfig, self)] : []),
    ...advisoryConditions(found.warnings, self),
  ];
  const waits = group?.reason === 'GroupRefNotReady' && problems.every(isAboutGroup);
  const phase = problems.length === 0 ? 'Valid' : waits ? 'Pending' : 'Failed';
  const message = cutMessage(valid.message, 1024);
  return buildStatus(object, states, now, { ready: phase === 'Valid', phase, message });
}

type Problems = readonly ObjectProblem[];

function conditionsFor(
  entry: MCPServerEntry,
  snapshot: Snapshot,
  problems: Problems,
  ofConfig: Problems,
  self: Self,
): ConditionState[] {
  const about = (path: RegExp): ObjectProblem[] => problems.filter((problem) => path.test(problem.path));
  const { externalAuthConfigRef, caBundleRef, headerForward, remoteUrl } = entry.spec;
  const secrets = headerForward?.addHeadersFromSecret ?? [];
  return [
    authCondition(externalAuthConfigRef?.name, [...problems.filter(isAboutAuthRef), ...ofConfig], self),
    urlCondition(remoteUrl, about(/^spec\.remoteUrl\b/u), self),
    ...(caBundleRef ? [bundleCondition(hasBundle(entry, snapshot), about(/^spec\.caBundleRef\b/u), self)] : []),
    ...(secrets.length > 0 ? [secretsCondition(problems.filter(isAboutSecret), self)] : []),
  ];
}

function urlCondition(url: string, problems: Problems, self: Self): ConditionState {
  const good = { reason: 'RemoteURLValid', message: `gateways may call ${url}` };
  return validityCondition('RemoteURLValidated', good, problems, () => 'RemoteURLInvalid', self);
}

function secretsCondition(problems: Problems, self: Self): ConditionState {
  const good = { reason: 'HeaderSecretsValid', message: 'every Secret that a header refers to has its key' };
  return validityCondition('HeaderSecretRefsValidated', good, problems, () => 'HeaderSecretNotFound', self);
}

const isAboutSecret = ({ reason }: ObjectProblem): boolean => /^Secret(Key)?NotFound$/u.test(reason);

function hasBundle({ spec }: MCPServerEntry, snapshot: Snapshot): boolean {
  const { name = '', key = DEFAULT_BUNDLE_KEY } = spec.caBundleRef?.configMapRef ?? {};
  return snapshot.configMaps.get(name)?.data[key] !== undefined;
}

function bundleCondition(exists: boolean, problems: Problems, self: Self): ConditionState {
  const message = exists
    ? 'the bundle contains certificates'
    : 'the bundle does not exist, and the reference is optional';
  const good = { reason: 'CABundleRefValid', message };
  const reasonOf = ({ reason }: ObjectProblem): string =>
    reason === 'CABundleRefInvalid' ? 'CABundleRefInvalid' : 'CABundleRefNotFound';
  return validityCondition('CABundleRefValidated', good, problems, reasonOf, self);
}

function authCondition(name: string | undefined, problems: Problems, self: Self): ConditionState {
  const type = 'ExternalAuthConfigValidated';
  if (name === undefined) return trueCondition(type, 'AuthConfigNotConfigured', 'no credential is configured');
  const good = { reason: 'AuthConfigValid', message: `MCPExternalAuthConfig "${name}" can be used` };
  const reasonOf = ({ reason }: ObjectProblem): string =>
    reason === 'ExternalAuthConfigRefNotFound' ? 'AuthConfigNotFound' : 'AuthConfigInvalid';
  return validityCondition(type, good, problems, reasonOf, self);
}
