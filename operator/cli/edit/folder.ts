import { isMemberKind } from '../../../crds/kinds/roles.ts';
import { loadManifests } from '../../source/files/load.ts';
import { DOCUMENT, FILE } from '../../source/files/located.ts';
import type { ManifestObject } from '../../source/files/manifest-object.ts';
import { formatProblems, type Io } from '../validate/problems-output.ts';

/** Objects of a folder that a command edits. */
export interface Folder {
  readonly groups: readonly ManifestObject[];
  /** Servers and entries. */
  readonly members: readonly ManifestObject[];
  /** Names of Secrets. */
  readonly secrets: ReadonlySet<string>;
  readonly objects: readonly ManifestObject[];
}

/** Reads a folder. Returns undefined after it printed why a file cannot be read: it may hold any object. */
export async function readFolder(dir: string, { stderr }: Io): Promise<Folder | undefined> {
  const { objects, problems } = await loadManifests([dir]);
  const unreadable = problems.filter(
    ({ kind, reason }) => (kind === FILE || kind === DOCUMENT) && reason !== 'NoManifests' && reason !== 'FileNotFound',
  );
  stderr.write(formatProblems(unreadable, []));
  if (unreadable.length > 0) return undefined;
  return {
    objects,
    groups: objects.filter(({ kind }) => kind === 'MCPGroup'),
    members: objects.filter(({ kind }) => isMemberKind(kind)),
    secrets: new Set(objects.filter(({ kind }) => kind === 'Secret').map(({ name }) => name)),
  };
}

/** Returns `file:line` of the name of an object. */
export function placeOf(object: ManifestObject): string {
  const { file, line } = object.locate('metadata.name');
  return `${file}:${String(line)}`;
}
