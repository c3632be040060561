import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '..', '..');
const run = promisify(execFile);

export interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A copy of the sources without tests, for tests that add a file and a line to it. */
export interface SourceCopy {
  readonly folder: string;
  /** Runs Node in the copy; resolves with any exit code. */
  node(...args: string[]): Promise<Output>;
  /** Copies `testdata/NAME` below `from` into the folder `from` of the copy, with its imports adapted. */
  add(from: string, name: string): Promise<void>;
  /** Replaces the first `before` in a file. @throws Error when the file does not contain it */
  edit(path: string, before: string, after: string): Promise<void>;
  remove(): Promise<void>;
}

/** Copies these folders of the repository to a new temporary folder; installed packages are linked. */
export async function copySources(folders: readonly string[]): Promise<SourceCopy> {
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-source-'));
  for (const name of [...folders, 'package.json', 'tsconfig.json']) {
    const filter = (file: string) => !/\.test\.ts$|\/(testdata|samples)$/u.test(file);
    await cp(join(root, name), join(folder, name), { recursive: true, filter });
  }
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  return {
    folder,
    node: async (...args) => {
      try {
        return { code: 0, ...(await run(process.execPath, args, { cwd: folder })) };
      } catch (error) {
        const { code, stdout, stderr } = error as Output;
        return { code, stdout, stderr };
      }
    },
    add: async (from, name) => {
      const text = await readFile(join(root, from, 'testdata', name), 'utf8');
      await writeFile(
        join(folder, from, name),
        text.replaceAll(/'\.\.\/((?:\.\.\/)?)/gu, (_, up: string) => `'${up || './'}`),
      );
    },
    edit: async (path, before, after) => {
      const text = await readFile(join(folder, path), 'utf8');
      if (!text.includes(before)) throw new Error(`${path} does not contain "${before}"`);
      await writeFile(
        join(folder, path),
        text.replace(before, () => after),
      );
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
