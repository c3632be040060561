import { basename, resolve } from 'node:path';
import { labelOf } from '../../source/clients/imported-servers.ts';
import { starterFiles } from '../../source/edit/folder-files.ts';
import { findFiles } from '../../source/files/find-files.ts';
import { type EditHost, newFiles, printProblems, writeChanges } from './folder.ts';
import { ownCommandLine } from '../own-command.ts';
import { created, printOutcome, type OutputFlags } from './outcome.ts';
import { EXIT } from '../exit.ts';

/** `vmcp init [DIR]`: writes a folder with one endpoint and one server. 0, 1 when it cannot write, 2 for a folder in use. */
export async function init(dir: string, options: OutputFlags, io: EditHost): Promise<number> {
  const [present] = (await findFiles([dir])).files;
  if (present !== undefined) {
    io.stderr.write(
      `${present} exists: choose an empty folder, or add a server with ${ownCommandLine('add', 'NAME', 'SOURCE', '--dir', dir)}\n`,
    );
    return EXIT.invalid;
  }
  const files = starterFiles(labelOf(basename(resolve(dir))), { line: ownCommandLine, dir });
  if (!writeChanges(newFiles(dir, files), io)) return EXIT.failed;
  await printProblems(dir, io);
  printOutcome({ dir, changes: created(dir, files) }, options, io);
  return EXIT.done;
}
