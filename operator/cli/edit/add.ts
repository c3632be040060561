import { join } from 'node:path';
import { isThere, othersCanRead, type FileChange } from '../../../gateway/management/state/write-files.ts';
import { freeName, labelOf } from '../../source/clients/imported-servers.ts';
import { quoted } from '../../source/clients/texts.ts';
import { GATEWAY_FILE, SECRETS_FILE, secretsFile, textProblems } from '../../source/edit/folder-files.ts';
import { readNewServer, type NewServer } from '../../source/edit/new-server.ts';
import { type SecretText, serverText, appendDocument, joinDocuments } from '../../source/edit/resource-text.ts';
import type { ManifestObject } from '../../source/files/manifest-object.ts';
import { readText } from '../../source/files/find-files.ts';
import type { Io } from '../validate/problems-output.ts';
import { placeOf, readFolder, type Folder, type ServerHost, printProblems, writeChanges } from './folder.ts';
import { isMissingValue, printMissing, unmetNeeds, printOutcome, type OutputFlags } from './outcome.ts';
import { ownCommandLine } from '../own-command.ts';
import { EXIT } from '../exit.ts';

export interface AddOptions extends OutputFlags {
  readonly dir: string;
  /** Required when the folder has several groups. */
  readonly group?: string;
}

/** `vmcp add NAME SOURCE`: adds a server to a folder. 0, 1 when it cannot write, 2 for bad input. */
export async function add(name: string, server: NewServer, options: AddOptions, io: ServerHost): Promise<number> {
  const { dir } = options;
  const refuse = (message: string): number => {
    io.stderr.write(`${message}\n`);
    return EXIT.invalid;
  };
  if (labelOf(name) !== name)
    return refuse(`${quoted(name)} is not a name: use lowercase letters, digits and "-", as in ${labelOf(name)}`);
  const reading = readNewServer(server);
  if ('leftOut' in reading) return refuse(reading.leftOut);
  const folder = await readFolder(dir, io);
  if (!folder) return EXIT.invalid;
  const group = chooseGroup(folder, options);
  if (typeof group === 'string') return refuse(group);
  const { namespace } = group;
  const twin = folder.members.find((member) => member.name === name && member.namespace === namespace);
  if (twin) return refuse(`${placeOf(twin)}: ${twin.kind} "${name}" exists: choose another name, or remove it first`);
  const secretName = freeName(name, (free) => folder.secrets.has(free));
  const { kind, text, secret } = serverText(reading.server, { name, namespace, group: group.name, secretName });
  const [problem] = textProblems(joinDocuments(text, ...(secret ? [secret.text] : [])));
  if (problem !== undefined) return refuse(problem);
  const file = freeFile(dir, name);
  const secrets = secret && (await secretsChange(dir, secret, io));
  if (secrets === 'unreadable') return EXIT.invalid;
  for (const warning of reading.warnings) io.stderr.write(`warning: ${name}: ${warning}\n`);
  if (!writeChanges([...(secrets ? [secrets] : []), { path: file, text }], io)) return EXIT.failed;
  const missing = secret?.missing ?? [];
  printMissing(missing, dir, io);
  for (const line of await unmetNeeds([{ name, spec: reading.server }], io.programs))
    io.stderr.write(`warning: ${line}\n`);
  await printProblems(dir, io, isMissingValue(missing));
  const changes = [
    { change: 'created' as const, file, objects: [`${kind}/${name}`] },
    ...(secrets ? [{ change: secrets.change, file: secrets.path, objects: [`Secret/${secretName}`] }] : []),
  ];
  printOutcome({ dir, changes, facts: { missing } }, options, io);
  return EXIT.done;
}

/** Returns the group of the new server, or the reason why there is none. */
function chooseGroup({ groups }: Folder, { dir, group }: AddOptions): ManifestObject | string {
  const known = groups.map(({ name }) => name).join(', ');
  if (groups.length === 0) return `${dir} has no MCPGroup: ${ownCommandLine('init', dir)} creates one`;
  const [chosen, other] = group === undefined ? groups : groups.filter(({ name }) => name === group);
  if (!chosen) return `${dir} has no MCPGroup "${group ?? ''}": it has ${known}`;
  return other ? `${dir} has several groups: choose one of ${known} with --group` : chosen;
}

/** Returns the path of a file that does not exist yet. */
function freeFile(dir: string, name: string): string {
  const taken = new Set([GATEWAY_FILE, SECRETS_FILE]);
  for (;;) {
    const file = `${freeName(name, (free) => taken.has(`${free}.yaml`))}.yaml`;
    if (!isThere(join(dir, file))) return join(dir, file);
    taken.add(file);
  }
}

/** Returns the change that appends a Secret to the file of Secrets, or creates it. */
async function secretsChange(
  dir: string,
  secret: SecretText,
  { stderr }: Io,
): Promise<(FileChange & { readonly change: 'created' | 'changed' }) | 'unreadable'> {
  const path = join(dir, SECRETS_FILE);
  if (!isThere(path)) {
    const { text, mode = 0o600 } = secretsFile([secret]);
    return { path, text, mode, change: 'created' };
  }
  const read = await readText(path);
  if ('reason' in read) {
    stderr.write(`${path}: ${read.message}\n`);
    return 'unreadable';
  }
  if (othersCanRead(path)) stderr.write(`warning: other users can read ${path}: chmod 600 ${path}\n`);
  return { path, text: appendDocument(read.text, secret.text), change: 'changed' };
}
