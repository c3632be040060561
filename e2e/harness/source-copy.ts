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
  /** Adds `from/testdata/NAME`, and imports `variable` from it in `from/index.ts`, where `before` becomes `after`. */
  register(from: string, name: string, variable: string, before: string, after: string): Promise<void>;
  /** Replaces the first `before` in a file. @throws Error when the file does not contain it */
  edit(path: string, before: string, after: string): Promise<void>;
  remove(): Promise<void>;
}

async function runNode(cwd: string, args: readonly string[]): Promise<Output> {
  try {
    const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' }; // its folder does not come back
    return { code: 0, ...(await run(process.execPath, args, { cwd, env })) };
  } catch (error) {
    const { code, stdout, stderr } = error as Output;
    return { code, stdout, stderr };
  }
}

/** Copies these folders of the repository to a new temporary folder; installed packages are linked. */
export async function copySources(folders: readonly string[]): Promise<SourceCopy> {
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-source-'));
  for (const name of [...folders, 'package.json', 'tsconfig.json']) {
    const filter = (file: string) => !/\.test\.ts$|\/(testdata|samples)$/u.test(file);
    await cp(join(root, name), join(folder, name), { recursive: true, filter });
  }
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const add: SourceCopy['add'] = async (from, name) => {
    const text = await readFile(join(root, from, 'testdata', name), 'utf8');
    await writeFile(
      join(folder, from, name),
      text.replaceAll(/'\.\.\/((?:\.\.\/)?)/gu, (_, up: string) => `'${up || './'}`),
    );
  };
  const edit: SourceCopy['edit'] = async (path, before, after) => {
    const text = await readFile(join(folder, path), 'utf8');
    if (!text.includes(before)) throw new Error(`${path} does not contain "${before}"`);
    await writeFile(
      join(folder, path),
      text.replace(before, () => after),
    );
  };
  return {
    folder,
    node: (...args) => runNode(folder, args),
    add,
    edit,
    register: async (from, name, variable, before, after) => {
      await add(from, name);
      await edit(join(from, 'index.ts'), before, after);
      await edit(join(from, 'index.ts'), 'import ', `import { ${variable} } from './${name}';\nimport `);
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
