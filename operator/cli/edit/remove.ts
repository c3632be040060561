import { isObject } from '../../../gateway/contract/json.ts';
import { quoted } from '../../source/clients/quoted.ts';
import { removeObject } from '../../source/edit/remove-object.ts';
import { DEFAULT_NAMESPACE, type ManifestObject } from '../../source/files/manifest-object.ts';
import { closest } from '../../source/files/closest.ts';
import { readText } from '../../source/files/read-text.ts';
import { placeOf, readFolder } from './folder.ts';
import type { EditHost } from './edit-host.ts';
import { ownCommandLine } from '../own-command.ts';
import { EXIT_INVALID, printOutcome, type OutputFlags } from './outcome.ts';
import { printProblems, writeChanges } from './write-changes.ts';

export interface RemoveOptions extends OutputFlags {
  readonly dir: string;
}

/** `vmcp remove NAME`: removes a server from its file. 0, 1 when it cannot write, 2 for bad input. */
export async function remove(name: string, options: RemoveOptions, io: EditHost): Promise<number> {
  const { dir } = options;
  const refuse = (message: string): number => {
    io.stderr.write(`${message}\n`);
    return EXIT_INVALID;
  };
  const folder = await readFolder(dir, io);
  if (!folder) return EXIT_INVALID;
  const [member, other] = folder.members.filter((each) => each.name === name);
  if (!member) return refuse(`${dir} has no server ${quoted(name)}${advice(name, folder.members)}`);
  if (other) return refuse(`${placeOf(member)} and ${placeOf(other)} have this name: remove one of them by hand`);
  const { file } = member.locate('metadata.name');
  const read = await readText(file);
  if ('reason' in read) return refuse(`${file}: ${read.message}`);
  const removal = removeObject(read.text, (value) => isSame(value, member));
  if (removal.is === 'refused') return refuse(`${placeOf(member)}: ${removal.why}: remove it by hand`);
  if (!writeChanges([{ path: file, text: removal.remaining }], io)) return 1;
  await printProblems(dir, io);
  const change = removal.remaining === undefined ? ('deleted' as const) : ('changed' as const);
  const changes = [{ change, file, objects: [`${member.kind}/${name}`] }];
  printOutcome({ changes, next: ownCommandLine('up', dir) }, options, io);
  return 0;
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
