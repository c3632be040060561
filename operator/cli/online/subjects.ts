import { imageScheme, type ImageScheme } from '../../resolve/backends/images.ts';
import type { ObjectRef } from '../../resolve/problems.ts';
import type { ResolvedServer } from '../../resolve/resolve-all.ts';
import type { Snapshot } from '../../resolve/snapshot.ts';
import { credentialEndpoints, externalIssuer, upstreamIssuers } from '../probes/issuer.ts';
import type { ExternalIssuer } from '../probes/issuer.ts';
import type { Subject } from './online-check.ts';

/** A subject with the field that names it. */
export interface NamedSubject {
  readonly object: ObjectRef;
  readonly path: string;
  readonly subject: Subject;
}

const TYPES: Readonly<Record<Exclude<ImageScheme, 'command'>, Subject['type']>> = {
  npx: 'npm',
  uvx: 'python',
  oci: 'image',
};

/** Lists everything on the network that valid resources name. */
export const namedSubjects = (snapshots: Iterable<Snapshot>, servers: readonly ResolvedServer[]): NamedSubject[] => [
  ...[...snapshots].flatMap(memberSubjects),
  ...servers.flatMap(issuerSubjects),
];

const memberSubjects = ({ namespace, servers, entries }: Snapshot): NamedSubject[] => [
  ...[...servers.values()].flatMap(({ kind, metadata: { name }, spec }): NamedSubject[] => {
    const scheme = imageScheme(spec.image);
    if (scheme === undefined || scheme === 'command') return [];
    return [
      { object: { kind, namespace, name }, path: 'spec.image', subject: { type: TYPES[scheme], value: spec.image } },
    ];
  }),
  ...[...entries.values()].map(({ kind, metadata: { name }, spec }) => ({
    object: { kind, namespace, name },
    path: 'spec.remoteUrl',
    subject: { type: 'url' as const, value: spec.remoteUrl },
  })),
];

const subjectOf = (issuer: ExternalIssuer): Subject => ({ type: 'issuer', value: issuer.issuer, issuer });

function issuerSubjects({ config, namespace, name }: ResolvedServer): NamedSubject[] {
  if (!config) return [];
  const object = { kind: 'VirtualMCPServer', namespace, name };
  const at = (path: string, subject: Subject): NamedSubject => ({ object, path, subject });
  const incoming = externalIssuer(config);
  return [
    ...(incoming ? [at('spec.incomingAuth', subjectOf(incoming))] : []),
    ...upstreamIssuers(config).map((issuer) => at('spec.authServerConfig.upstreamProviders', subjectOf(issuer))),
    ...credentialEndpoints(config).map((value) => at('spec', { type: 'endpoint', value })),
  ];
}
