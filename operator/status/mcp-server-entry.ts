import { checkMCPServerEntry } from '../resolve/objects.ts';
import type { ObjectProblem } from '../resolve/problems.ts';
import { DEFAULT_BUNDLE_KEY } from '../resolve/ca-bundle.ts';
import type { MCPServerEntry, Snapshot } from '../resolve/snapshot.ts';
import { adviceClaims, holds, verdict, type Claim } from './claim.ts';
import { CLUSTER_PLATFORM } from '../render/options.ts';
import { concludeStatus, type ObjectStatus } from './conditions.ts';
import { cut, type Self } from './message.ts';
import { authConfigProblems, groupClaim, isAboutAuthRef, isAboutGroup } from './references.ts';
import type { StatusInput } from './input.ts';

/** An entry makes nothing: its status says whether a gateway can use it. */
export function mcpServerEntryStatus({ object, snapshot, refused = [], now }: StatusInput): ObjectStatus {
  const self = { kind: object.kind, name: object.metadata.name };
  const entry = snapshot.entries.get(self.name);
  const found = entry ? checkMCPServerEntry(entry, snapshot, CLUSTER_PLATFORM) : { problems: [], warnings: [] };
  const ofConfig = authConfigProblems(entry?.spec.externalAuthConfigRef?.name, snapshot);
  const problems = [...refused, ...found.problems, ...ofConfig];
  const good = { reason: 'ConfigValid', message: 'gateways can use it' };
  const valid = verdict('Valid', good, problems, () => 'ConfigInvalid', self);
  const group = entry && groupClaim(entry.spec.groupRef.name, found.problems, 'GroupRefIsValid', self);
  const claims = [
    valid,
    ...(entry && group ? [group, ...claimsOf(entry, snapshot, found.problems, ofConfig, self)] : []),
    ...adviceClaims(found.warnings, self),
  ];
  const waits = group?.reason === 'GroupRefNotReady' && problems.every(isAboutGroup);
  const phase = problems.length === 0 ? 'Valid' : waits ? 'Pending' : 'Failed';
  const message = cut(valid.message, 1024);
  return concludeStatus(object, claims, now, { ready: phase === 'Valid', phase, message });
}

type Problems = readonly ObjectProblem[];

function claimsOf(
  entry: MCPServerEntry,
  snapshot: Snapshot,
  problems: Problems,
  ofConfig: Problems,
  self: Self,
): Claim[] {
  const about = (path: RegExp): ObjectProblem[] => problems.filter((problem) => path.test(problem.path));
  const { externalAuthConfigRef, caBundleRef, headerForward, remoteUrl } = entry.spec;
  const secrets = headerForward?.addHeadersFromSecret ?? [];
  return [
    authClaim(externalAuthConfigRef?.name, [...problems.filter(isAboutAuthRef), ...ofConfig], self),
    urlClaim(remoteUrl, about(/^spec\.remoteUrl\b/u), self),
    ...(caBundleRef ? [bundleClaim(hasBundle(entry, snapshot), about(/^spec\.caBundleRef\b/u), self)] : []),
    ...(secrets.length > 0 ? [secretsClaim(problems.filter(isAboutSecret), self)] : []),
  ];
}

function urlClaim(url: string, problems: Problems, self: Self): Claim {
  const good = { reason: 'RemoteURLValid', message: `gateways may call ${url}` };
  return verdict('RemoteURLValidated', good, problems, () => 'RemoteURLInvalid', self);
}

function secretsClaim(problems: Problems, self: Self): Claim {
  const good = { reason: 'HeaderSecretsValid', message: 'the Secrets of the headers have their keys' };
  return verdict('HeaderSecretRefsValidated', good, problems, () => 'HeaderSecretNotFound', self);
}

const isAboutSecret = ({ reason }: ObjectProblem): boolean => /^Secret(Key)?NotFound$/u.test(reason);

function hasBundle({ spec }: MCPServerEntry, snapshot: Snapshot): boolean {
  const { name = '', key = DEFAULT_BUNDLE_KEY } = spec.caBundleRef?.configMapRef ?? {};
  return snapshot.configMaps.get(name)?.data[key] !== undefined;
}

function bundleClaim(isThere: boolean, problems: Problems, self: Self): Claim {
  const message = isThere ? 'the bundle holds certificates' : 'no bundle is there, and the reference is optional';
  const good = { reason: 'CABundleRefValid', message };
  const reasonOf = ({ reason }: ObjectProblem): string =>
    reason === 'CABundleRefInvalid' ? 'CABundleRefInvalid' : 'CABundleRefNotFound';
  return verdict('CABundleRefValidated', good, problems, reasonOf, self);
}

function authClaim(name: string | undefined, problems: Problems, self: Self): Claim {
  const type = 'ExternalAuthConfigValidated';
  if (name === undefined) return holds(type, 'AuthConfigNotConfigured', 'no credential is asked for');
  const good = { reason: 'AuthConfigValid', message: `MCPExternalAuthConfig "${name}" can be used` };
  const reasonOf = ({ reason }: ObjectProblem): string =>
    reason === 'ExternalAuthConfigRefNotFound' ? 'AuthConfigNotFound' : 'AuthConfigInvalid';
  return verdict(type, good, problems, reasonOf, self);
}
