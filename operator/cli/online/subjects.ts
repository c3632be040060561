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

/** Returns the package or the image of a server; undefined for a program of this machine. */
export function imageSubject(image: string): Subject | undefined {
  const scheme = imageScheme(image);
  return scheme === undefined || scheme === 'command' ? undefined : { type: TYPES[scheme], value: image };
}

const memberSubjects = ({ namespace, servers, entries }: Snapshot): NamedSubject[] => [
  ...[...servers.values()].flatMap(({ kind, metadata: { name }, spec }): NamedSubject[] => {
    const subject = imageSubject(spec.image);
    return subject ? [{ object: { kind, namespace, name }, path: 'spec.image', subject }] : [];
  }),
  ...[...entries.values()].map(({ kind, metadata: { name }, spec }) => ({
    object: { kind, namespace, name },
    path: 'spec.remoteUrl',
    subject: { type: 'url' as const, value: spec.remoteUrl },
  })),
];
