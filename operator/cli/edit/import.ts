import { basename, join, resolve } from 'node:path';
import { isThere } from '../../../gateway/management/state/write-files.ts';
import type { ClientEntry } from '../../source/clients/server-spec.ts';
import { MAX_CLIENT_FILE_BYTES, readClientFile } from '../../source/clients/client-file.ts';
import { importedServers, labelOf } from '../../source/clients/imported-servers.ts';
import { quoted } from '../../source/clients/texts.ts';
import { importFiles, type ImportFiles } from '../../source/edit/import-files.ts';
import { GATEWAY_FILE, type NewFile } from '../../source/edit/folder-files.ts';
import { STDIN, STDIN_FILE, readText } from '../../source/files/find-files.ts';
import type { Io } from '../validate/problems-output.ts';
import { isMissingValue, printMissing, unmetNeeds, created, printOutcome, type OutputFlags } from './outcome.ts';
import { type ServerHost, newFiles, printProblems, writeChanges } from './folder.ts';
import { ownCommandLine } from '../own-command.ts';
import { EXIT } from '../exit.ts';

export interface ImportOptions extends OutputFlags {
  readonly dir: string;
  /** Name of the group and of the VirtualMCPServer; that of the folder when absent. */
  readonly name?: string;
}

/** `vmcp import FILE...`: writes resources for the servers of clients' files. 0, 1 when it cannot write, 2 for bad input. */
export async function importClients(paths: readonly string[], options: ImportOptions, io: ServerHost): Promise<number> {
  const { dir } = options;
  const name = options.name ?? labelOf(basename(resolve(dir)));
  if (labelOf(name) !== name) {
    io.stderr.write(
      `--name ${quoted(name)} is not a name: use lowercase letters, digits and "-", as in ${labelOf(name)}\n`,
    );
    return EXIT.invalid;
  }
  const entries: ClientEntry[] = [];
  for (const path of paths) {
    const read = await readEntries(path, io);
    if (!read) return EXIT.invalid;
    entries.push(...read);
  }
  const imported = importFiles(importedServers(entries), name, { line: ownCommandLine, dir });
  const { servers, leftOut, files, missing } = imported;
  printNotes(imported, io);
  if (servers.length === 0) {
    io.stderr.write(`nothing was written: vmcp cannot run any server of ${paths.join(', ')}\n`);
    return EXIT.invalid;
  }
  if (hasOwnFile(dir, files, io)) return EXIT.invalid;
  if (!writeChanges(newFiles(dir, files), io)) return EXIT.failed;
  printMissing(missing, dir, io);
  for (const line of await unmetNeeds(servers, io.programs)) io.stderr.write(`warning: ${line}\n`);
  await printProblems(dir, io, isMissingValue(missing));
  const facts = {
    servers: servers.map(({ name: server, original, warnings }) => ({ name: server, original, warnings })),
    leftOut,
    missing,
  };
  printOutcome({ dir, changes: created(dir, files), facts }, options, io);
  return EXIT.done;
}

/** Reads the servers of a file. On failure prints the problem of the file and returns undefined. */
async function readEntries(path: string, { stderr }: Io): Promise<readonly ClientEntry[] | undefined> {
  const text = await readText(path === STDIN ? STDIN_FILE : path, MAX_CLIENT_FILE_BYTES);
  if ('reason' in text) {
    stderr.write(`${path}: ${text.message}\n`);
    return undefined;
  }
  const file = readClientFile(text.text);
  if ('entries' in file) return file.entries;
  const { line, message } = file.fault;
  stderr.write(`${path}${line === undefined ? '' : `:${String(line)}`}: ${message}\n`);
  return undefined;
}

function printNotes({ servers, leftOut }: ImportFiles, { stderr }: Io): void {
  for (const { original, reason } of leftOut) stderr.write(`left out ${quoted(original)}: ${reason}\n`);
  for (const { name, original, warnings } of servers) {
    if (name !== original) stderr.write(`renamed ${quoted(original)} to ${name}\n`);
    for (const warning of warnings) stderr.write(`warning: ${name}: ${warning}\n`);
  }
}

/** Returns true after it printed which files of the folder would be overwritten. */
function hasOwnFile(dir: string, files: readonly NewFile[], { stderr }: Io): boolean {
  const present = files.map(({ name }) => join(dir, name)).filter(isThere);
  if (present.length === 0) return false;
  const verb = present.length === 1 ? 'exists' : 'exist';
  const other = present.includes(join(dir, GATEWAY_FILE))
    ? ', or name the files of all your clients in one import'
    : '';
  stderr.write(`${present.join(', ')} ${verb}: choose another folder with --dir${other}\n`);
  return true;
}
