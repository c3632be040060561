import type { FileChange } from '../../../gateway/management/state/write-files.ts';
import { isObject } from '../../../gateway/contract/json.ts';
import { references, textsOf } from '../../resolve/references.ts';
import type { Resource } from '../../resolve/snapshot.ts';
import { quoted } from '../../source/clients/texts.ts';
import { removeObject } from '../../source/edit/remove-object.ts';
import { DEFAULT_NAMESPACE, type ManifestObject } from '../../source/files/manifest-object.ts';
import { closest } from '../../source/files/closest.ts';
import { readText } from '../../source/files/find-files.ts';
import { placeOf, readFolder, type EditHost, printProblems, writeChanges } from './folder.ts';
import { printOutcome, type OutputFlags } from './outcome.ts';
import { EXIT } from '../exit.ts';

export interface RemoveOptions extends OutputFlags {
  readonly dir: string;
}

/** `vmcp remove NAME`: removes a server from its file, with the Secrets that only it uses. 0, 1 when it cannot write, 2 for bad input. */
export async function remove(name: string, options: RemoveOptions, io: EditHost): Promise<number> {
  const { dir } = options;
  const refuse = (message: string): number => {
    io.stderr.write(`${message}\n`);
    return EXIT.invalid;
  };
  const folder = await readFolder(dir, io);
  if (!folder) return EXIT.invalid;
  const [member, other] = folder.members.filter((each) => each.name === name);
  if (!member) return refuse(`${dir} has no server ${quoted(name)}${advice(name, folder.members)}`);
  if (other) return refuse(`${placeOf(member)} and ${placeOf(other)} have this name: remove one of them by hand`);
  const removed = [member, ...ownSecrets(member, folder.objects)];
  const changes = await removalOf(removed);
  if (typeof changes === 'string') return refuse(changes);
  if (!writeChanges(changes, io)) return EXIT.failed;
  await printProblems(dir, io);
  const rows = changes.map(({ path, text }) => ({
    change: text === undefined ? ('deleted' as const) : ('changed' as const),
    file: path,
    objects: removed.filter((object) => fileOf(object) === path).map((object) => `${object.kind}/${object.name}`),
  }));
  printOutcome({ dir, changes: rows }, options, io);
  return EXIT.done;
}

const fileOf = (object: ManifestObject): string => object.locate('metadata.name').file;

/** Lists the Secrets that this server refers to and no other object names: a Secret with the name in any other text stays. */
function ownSecrets(member: ManifestObject, objects: readonly ManifestObject[]): ManifestObject[] {
  const found = references({ kind: member.kind, spec: member.value['spec'] } as Resource);
  const own = new Set(found.flatMap(({ target, name }) => (target === 'Secret' ? name : [])));
  const others = new Set(objects.filter((object) => object !== member).flatMap(textsOutsideMetadata));
  return objects.filter(
    ({ kind, name, namespace }) =>
      kind === 'Secret' && namespace === member.namespace && own.has(name) && !others.has(name),
  );
}

/** Lists the texts of an object. Some kinds, such as ServiceAccount, name Secrets outside of a `spec`. */
const textsOutsideMetadata = ({ value: { metadata: _metadata, ...members } }: ManifestObject): string[] =>
  textsOf(members);

/** Returns the changes of the files without these objects, or the reason why an object cannot be removed. */
async function removalOf(objects: readonly ManifestObject[]): Promise<FileChange[] | string> {
  const texts = new Map<string, string | undefined>();
  for (const object of objects) {
    const file = fileOf(object);
    const read = texts.has(file) ? { text: texts.get(file) ?? '' } : await readText(file);
    if ('reason' in read) return `${file}: ${read.message}`;
    const removal = removeObject(read.text, (value) => isSame(value, object));
    if (removal.is === 'refused') return `${placeOf(object)}: ${removal.why}: remove it by hand`;
    texts.set(file, removal.remaining);
  }
  return [...texts].map(([path, text]) => ({ path, text }));
}

function advice(name: string, members: readonly ManifestObject[]): string {
  const names = members.map((member) => member.name);
  const similar = closest(name, names);
  if (similar !== undefined) return `: did you mean ${similar}?`;
  return names.length === 0 ? '' : `: it has ${names.join(', ')}`;
}

/** Returns true for the value of this object. */
function isSame(value: unknown, { kind, namespace, name }: ManifestObject): boolean {
  if (!isObject(value) || value['kind'] !== kind || !isObject(value['metadata'])) return false;
  const { metadata } = value;
  return metadata['name'] === name && (metadata['namespace'] ?? DEFAULT_NAMESPACE) === namespace;
}
