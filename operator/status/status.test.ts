import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { KINDS } from '../../crds/kinds/index.ts';
import { validateObject } from '../../crds/kinds/validate.ts';
import type { KubeObject } from '../../gateway/kube/resource.ts';
import type { Condition } from './conditions.ts';
import { sameStatus } from './same-status.ts';
import { CONFIG_CASES, entryCases, SERVER_CASES, VMCP_CASES } from './testdata/cases.ts';
import { kstatus, type Verdict } from './testdata/kstatus.ts';
import { live, statusFor, type Case } from './testdata/world.ts';

const entries = readFileSync(new URL('../resolve/testdata/entries.in.yaml', import.meta.url), 'utf8');
const [indented = ''] = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/u.exec(entries) ?? [];
const pem = indented.replaceAll(/^ +/gmu, '');

const CASES = {
  VirtualMCPServer: VMCP_CASES,
  MCPServer: SERVER_CASES,
  MCPServerEntry: entryCases(pem),
  config: CONFIG_CASES,
};
const all = Object.entries(CASES).flatMap(([kind, cases]) =>
  Object.entries(cases).map(([name, input]) => ({ kind, name, input })),
);

const conditions = (input: Case): Condition[] => statusFor(input).status['conditions'] as Condition[];

/** Removes the backend's name from a condition type. */
const withoutName = (type: string): string => type.replace(/^(DiscoveredAuthConfig|BackendAuthConfig)-.*$/u, '$1');

/** `Kind Type=Status Reason` for every condition of every case. */
const observed = new Set(
  all.flatMap(({ input }) =>
    conditions(input).map(
      ({ type, status, reason }) => `${input.objects[0]?.kind ?? ''} ${withoutName(type)}=${status} ${reason}`,
    ),
  ),
);

/** Conditions of each kind: type and status, with every reason that they may have. */
const CONTRACT: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  VirtualMCPServer: {
    'ScaledBack=True': 'ReplicasShareNothing',
    'Reconciling=True': 'DependencyNotReady NotReady RolloutInProgress',
    'Stalled=True': 'EditRequired RolloutFailed',
    'Valid=True': 'ValidationSucceeded',
    'Valid=False': 'ValidationFailed',
    'Ready=True': 'DeploymentReady ScaledToZero',
    'Ready=False':
      'DeploymentFailed DeploymentNotReady BackendsUnavailable BackendsDegraded BackendsUnknown AuthServerConfigInvalid',
    'GroupRefValidated=True': 'GroupRefValid',
    'GroupRefValidated=False': 'GroupRefNotFound GroupRefNotReady',
    'OIDCConfigRefValidated=True': 'OIDCConfigRefValid',
    'OIDCConfigRefValidated=False': 'OIDCConfigRefNotFound OIDCConfigRefNotValid',
    'AuthzConfigRefValidated=True': 'AuthzConfigRefValid',
    'AuthzConfigRefValidated=False': 'AuthzConfigRefNotFound AuthzConfigRefNotValid',
    'ToolConfigRefValidated=True': 'ToolConfigRefValid',
    'ToolConfigRefValidated=False': 'ToolConfigRefNotFound ToolConfigRefNotValid',
    'AuthConfigured=True': 'AuthValid',
    'AuthConfigured=False': 'AuthInvalid AuthzInvalid AuthzConfigMapNotFound AuthzConfigMapInvalid',
    'AuthServerConfigValidated=True': 'AuthServerConfigValid',
    'AuthServerConfigValidated=False': 'AuthServerConfigInvalid',
    'IdentitySynthesized=True': 'OAuth2UpstreamWithoutUserInfo',
    'IdentitySynthesized=False': 'AllUpstreamsHaveUserInfo',
    'DefaultAuthConfig=True': 'ConversionSucceeded',
    'DefaultAuthConfig=False': 'ConversionFailed CredentialWithheld InvalidConfig ValidationFailed',
    'DiscoveredAuthConfig=True': 'ConversionSucceeded',
    'DiscoveredAuthConfig=False': 'ConversionFailed CredentialWithheld InvalidConfig ValidationFailed',
    'BackendAuthConfig=True': 'ConversionSucceeded',
    'BackendAuthConfig=False': 'ConversionFailed InvalidConfig ValidationFailed',
    'PodTemplateSpecValid=True': 'PodTemplateSpecValid',
    'PodTemplateSpecValid=False': 'InvalidPodTemplateSpec',
    'PodTemplateSpecValid=Unknown': 'NotRendered',
    'BackendsDiscovered=True': 'BackendsDiscoveredSuccessfully',
    'BackendsDiscovered=False': 'BackendDiscoveryFailed BackendNameConflict',
    'SessionStorageWarning=True': 'SessionStorageMissingForReplicas',
    'SessionStorageWarning=False': 'SessionStorageConfigured SessionStorageWarningNotApplicable',
    'SigningKeysEphemeral=True': 'KeysMadeAtStart',
    'SigningKeysEphemeral=False': 'KeysConfigured',
    'UpstreamStorageInMemory=True': 'StorageInMemory',
    'UpstreamStorageInMemory=False': 'StorageConfigured',
    'TrustedProxiesUnset=True': 'ClientAddressesUnknown',
    'TrustedProxiesUnset=False': 'TrustedProxiesSet',
    'RouteAccepted=True': 'RouteAccepted',
    'RouteAccepted=False': 'GatewayAPIMissing RouteRejected',
    'RouteAccepted=Unknown': 'RoutePending',
    'ResourceURLUnset=True': 'ServiceNameUsed',
    'ResourceURLUnset=False': 'ResourceURLSet',
    'BackendsHealthy=True': 'AllBackendsRoutable',
    'BackendsHealthy=False': 'SomeBackendsUnhealthy NoRoutableBackends',
    'BackendsHealthy=Unknown': 'BackendsNotReported BackendsUnknown NoBackends',
    'RuntimeProblems=True': 'CredentialMisconfigured',
    'ToolsPortable=False': 'ToolsNotPortable',
    'CredentialsWithheld=True': 'CredentialWithheld',
    'Applied=True': 'ObjectsApplied',
    'Applied=False': 'NameTaken',
    'Applied=Unknown': 'EarlierSpec',
    'Advisory=True': 'ReviewAdvised',
  },
  MCPServer: {
    'ScaledBack=True': 'ReplicasShareNothing',
    'Reconciling=True': 'DependencyNotReady NotReady RolloutInProgress',
    'Stalled=True': 'EditRequired RolloutFailed',
    'Valid=True': 'ValidationSucceeded',
    'Valid=False': 'ValidationFailed',
    'Ready=True': 'Ready ScaledToZero',
    'Ready=False': 'NotReady',
    'GroupRefValidated=True': 'GroupRefIsValid',
    'GroupRefValidated=False': 'GroupRefNotFound GroupRefNotReady',
    'PodTemplateValid=True': 'ValidPodTemplateSpec',
    'PodTemplateValid=False': 'InvalidPodTemplateSpec',
    'PodTemplateValid=Unknown': 'NotRendered',
    'ExternalAuthConfigValidated=True': 'ValidationSucceeded',
    'OIDCConfigRefValidated=True': 'OIDCConfigRefValid',
    'OIDCConfigRefValidated=False': 'OIDCConfigRefNotFound OIDCConfigRefNotValid',
    'AuthzConfigRefValidated=True': 'AuthzConfigRefValid',
    'AuthzConfigRefValidated=False': 'AuthzConfigRefNotFound AuthzConfigRefNotValid',
    'TelemetryConfigRefValidated=True': 'TelemetryConfigRefValid',
    'TelemetryConfigRefValidated=False': 'TelemetryConfigRefNotFound TelemetryConfigRefInvalid',
    'WebhookConfigValidated=True': 'WebhookConfigValid',
    'WebhookConfigValidated=False': 'WebhookConfigRefNotFound WebhookConfigInvalid',
    'AuthServerRefValidated=True': 'AuthServerRefValid',
    'AuthServerRefValidated=False': 'AuthServerRefInvalidConfig AuthServerRefInvalidType AuthServerRefNotFound',
    'RateLimitConfigValid=True': 'RateLimitConfigValid',
    'RateLimitConfigValid=False': 'PerUserRequiresAuth RateLimitingRequiresKvstore',
    'ExternalAuthConfigValidated=False':
      'ExternalAuthConfigRefNotFound InvalidConfig InvalidType OutgoingAuthOnStdio ValidationFailed',
    'ToolConfigRefValidated=True': 'ToolConfigRefValid',
    'ToolConfigRefValidated=False': 'ToolConfigRefNotFound ToolConfigRefNotValid',
    'StdioReplicaCapped=True': 'StdioTransportCapAt1',
    'StdioReplicaCapped=False': 'StdioReplicaCapNotActive',
    'SessionStorageWarning=True': 'SessionStorageMissingForReplicas',
    'SessionStorageWarning=False': 'SessionStorageConfigured SessionStorageWarningNotApplicable',
    'Applied=True': 'ObjectsApplied',
    'Applied=False': 'NameTaken QuotaExceeded',
    'Applied=Unknown': 'EarlierSpec',
    'Advisory=True': 'ReviewAdvised',
  },
  MCPServerEntry: {
    'Ready=True': 'ConfigValid',
    'Ready=False': 'ConfigInvalid',
    'Reconciling=True': 'DependencyNotReady',
    'Stalled=True': 'EditRequired',
    'Valid=True': 'ConfigValid',
    'Valid=False': 'ConfigInvalid',
    'GroupRefValidated=True': 'GroupRefIsValid',
    'GroupRefValidated=False': 'GroupRefNotFound GroupRefNotReady',
    'ExternalAuthConfigValidated=True': 'AuthConfigValid AuthConfigNotConfigured',
    'ExternalAuthConfigValidated=False': 'AuthConfigNotFound AuthConfigInvalid',
    'CABundleRefValidated=True': 'CABundleRefValid',
    'CABundleRefValidated=False': 'CABundleRefNotFound CABundleRefInvalid',
    'RemoteURLValidated=True': 'RemoteURLValid',
    'RemoteURLValidated=False': 'RemoteURLInvalid',
    'HeaderSecretRefsValidated=True': 'HeaderSecretsValid',
    'HeaderSecretRefsValidated=False': 'HeaderSecretNotFound',
  },
  MCPGroup: {
    'Ready=True': 'ConfigValid',
    'Ready=False': 'ValidationFailed',
    'Stalled=True': 'EditRequired',
    'MCPServersChecked=True': 'ListMCPServersCheckSucceeded',
    'Valid=False': 'ValidationFailed',
    'DeletionBlocked=True': 'ReferencedByWorkloads',
  },
  MCPOIDCConfig: {
    'Ready=True': 'ConfigValid',
    'Ready=False': 'ConfigInvalid',
    'Stalled=True': 'EditRequired',
    'Valid=True': 'ConfigValid',
    'Valid=False': 'ConfigInvalid',
    'DeletionBlocked=True': 'ReferencedByWorkloads',
    'Advisory=True': 'ReviewAdvised',
  },
  MCPAuthzConfig: {
    'Ready=True': 'ConfigValid',
    'Ready=False': 'ConfigInvalid AuthzInvalid',
    'Stalled=True': 'EditRequired',
    'Valid=True': 'ConfigValid',
    'Valid=False': 'ConfigInvalid AuthzInvalid',
    'DeletionBlocked=True': 'ReferencedByWorkloads',
    'Advisory=True': 'ReviewAdvised',
  },
  MCPToolConfig: {
    'Ready=True': 'ValidationSucceeded',
    'Ready=False': 'ValidationFailed',
    'Stalled=True': 'EditRequired',
    'Valid=True': 'ValidationSucceeded',
    'Valid=False': 'ValidationFailed',
    'DeletionBlocked=True': 'ReferencedByWorkloads',
    'Advisory=True': 'ReviewAdvised',
  },
  MCPExternalAuthConfig: {
    'Ready=True': 'ValidationSucceeded',
    'Ready=False': 'ValidationFailed InvalidConfig',
    'Reconciling=True': 'DependencyNotReady',
    'Stalled=True': 'EditRequired',
    'Valid=True': 'ValidationSucceeded',
    'Valid=False': 'ValidationFailed InvalidConfig',
    'DeletionBlocked=True': 'ReferencedByWorkloads',
  },
};

const catalogue = Object.entries(CONTRACT).flatMap(([kind, types]) =>
  Object.entries(types).flatMap(([type, reasons]) => reasons.split(' ').map((reason) => `${kind} ${type} ${reason}`)),
);

describe('conditions', () => {
  it.each(catalogue)('are covered by a case: %s', (entry) => {
    expect([...observed]).toContain(entry);
  });

  it('have no entry outside the catalogue', () => {
    expect([...observed].filter((entry) => !catalogue.includes(entry))).toEqual([]);
  });
});

/** Returns the first object of a case with its status, as the API server has it. */
const written = (input: Case): KubeObject => {
  const [object] = input.objects;
  if (!object) throw new Error('a case needs an object');
  return { ...object, status: { ...(object['status'] as object | undefined), ...statusFor(input).status } };
};

describe('tools that wait for an object', () => {
  it('get the verdict of the table', async () => {
    const verdicts = Object.fromEntries(
      Object.entries(CASES).map(([kind, cases]) => [
        kind,
        Object.fromEntries(Object.entries(cases).map(([name, input]) => [name, kstatus(written(input))])),
      ]),
    );
    await expect(stringify(verdicts, { lineWidth: 0 })).toMatchFileSnapshot('./testdata/kstatus.yaml');
  });

  it.each(KINDS.map(({ kind }) => kind))('do not take a new %s for ready', (kind) => {
    const fresh = { ...live(kind, 'new'), metadata: { name: 'new', generation: 1 } };
    expect(fresh).toMatchObject({ status: { observedGeneration: -1 } });
    expect(kstatus(fresh)).toBe('InProgress' satisfies Verdict);
  });
});

describe.each(all)('$kind: $name', ({ kind, name, input }) => {
  const [object] = input.objects;
  if (!object) throw new Error('a case needs an object');
  const first = statusFor(input);

  it('has the status of its snapshot file', async () => {
    const file = `./testdata/${kind}.out/${name.replaceAll(/[ ,]+/gu, '-')}.yaml`;
    await expect(stringify(first, { lineWidth: 0 })).toMatchFileSnapshot(file);
  });

  it('has a status that is valid by the schema', () => {
    const problemsOf = (status: object) =>
      validateObject(object.kind, { ...object, status }).filter(({ path }) => path.startsWith('status'));
    expect(problemsOf(first.status)).toEqual([]);
  });

  it('has one condition Ready, and at most one of Reconciling and Stalled', () => {
    const count = (...types: readonly string[]) => conditions(input).filter(({ type }) => types.includes(type)).length;
    expect(count('Ready')).toBe(1);
    expect(count('Reconciling', 'Stalled')).toBeLessThanOrEqual(1);
    const [ready] = conditions(input).filter(({ type }) => type === 'Ready');
    if (kstatus(written(input)) === 'Current') expect(ready?.status).toBe('True');
  });

  it('does not depend on the order of objects', () => {
    const rest = input.objects.slice(1).toReversed();
    expect(JSON.stringify(statusFor({ ...input, objects: [object, ...rest] }))).toBe(JSON.stringify(first));
  });

  it('does not change when it is computed again later', () => {
    const before = written(input);
    const second = statusFor({ ...input, objects: [before, ...input.objects.slice(1)], now: '2027-01-01T00:00:00Z' });
    expect(second.status).toEqual(first.status);
    expect(second.events).toEqual([]);
    expect(sameStatus(before['status'], second.status)).toBe(true);
  });

  it('names the path and the reason of every problem', () => {
    const invalid = conditions(input).filter(({ status, type }) => status === 'False' && type.endsWith('Validated'));
    for (const { message } of invalid) expect(message).toMatch(/\w+.*: .* \[\w+\]/u);
  });
});
