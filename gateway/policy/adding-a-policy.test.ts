import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
/** Each step starts a process. */
const TIMEOUT_MS = 60_000;
let copy: string;

/** Copies the sources and adds a policy: one file and one line in the registry. */
beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), 'vmcp-policy-'));
  for (const name of ['gateway', 'package.json', 'tsconfig.json']) {
    const filter = (file: string) => !/\.test\.ts$|\/(testdata|samples)$/u.test(file);
    await cp(join(root, name), join(copy, name), { recursive: true, filter });
  }
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
  const folder = join(copy, 'gateway', 'policy');
  const testdata = join(import.meta.dirname, 'testdata');
  const adapt = async (file: string): Promise<void> => {
    const source = await readFile(join(testdata, file), 'utf8');
    await writeFile(join(folder, file), source.replaceAll("'../", "'./").replaceAll("'./../", "'../"));
  };
  await Promise.all([adapt('toy-policy.ts'), adapt('call-through-gateway.ts')]);
  const registry = await readFile(join(folder, 'index.ts'), 'utf8');
  const extended = registry.replace('export const POLICIES = [', 'export const POLICIES = [toyPolicy');
  expect(extended).not.toBe(registry);
  await writeFile(join(folder, 'index.ts'), `import { toyPolicy } from './toy-policy.ts';\n${extended}`);
}, TIMEOUT_MS);
afterAll(() => rm(copy, { recursive: true, force: true }));

it(
  'runs a policy that is one file and one line in the registry',
  async () => {
    const script = join('gateway', 'policy', 'call-through-gateway.ts');
    const { stdout } = await promisify(execFile)(process.execPath, [script], { cwd: copy });
    expect(JSON.parse(stdout)).toEqual({
      problems: ['authz_config.version'],
      list: expect.objectContaining({ result: { tools: [expect.objectContaining({ name: 'shop_buy' })] } }),
      buy: { status: 200, body: { jsonrpc: '2.0', id: 1, result: { content: [] } } },
      sell: {
        status: 403,
        body: {
          jsonrpc: '2.0',
          id: 1,
          error: { code: -32003, message: 'the tool shop_sell is denied', data: { reason: 'toy' } },
        },
      },
    });
  },
  TIMEOUT_MS,
);
