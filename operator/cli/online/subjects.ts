import { imageScheme, type ImageScheme } from '../../resolve/backends/images.ts';
import type { Snapshot } from '../../resolve/snapshot.ts';
import type { NamedSubject, Subject } from './online-check.ts';
import { providerSubjects } from './provider-subjects.ts';

const TYPES: Readonly<Record<Exclude<ImageScheme, 'command'>, Subject['type']>> = {
  npx: 'npm',
  uvx: 'python',
  oci: 'image',
};

/** Lists everything on the network that valid resources name. */
export const namedSubjects = (snapshots: Iterable<Snapshot>): NamedSubject[] =>
  [...snapshots].flatMap((snapshot) => [...memberSubjects(snapshot), ...providerSubjects(snapshot)]);

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
