import { execFile } from 'node:child_process';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import { testScope } from '../harness/scope.ts';
import { startServe } from '../harness/serve.ts';
import { temporaryFolder } from '../harness/vmcp.ts';
import { installed } from '../interop/lab.ts';
import { DOCUMENT, LANGUAGES, runIn, type Language } from './languages.ts';

const PROGRAMS = join(import.meta.dirname, 'programs');

/** Returns the folder of a client that is generated from this document: that of an earlier run, if nothing has changed since. */
async function clientOf({ name, program, build }: Language, document: string): Promise<string> {
  const sources = [join(PROGRAMS, program), join(import.meta.dirname, 'languages.ts')];
  const key = [document, ...(await Promise.all(sources.map((path) => readFile(path, 'utf8'))))].join('\n');
  const quiet = { step: () => undefined };
  return installed(quiet, join('api-clients', name), key, async (folder) => {
    await writeFile(join(folder, DOCUMENT), document);
    await copyFile(join(PROGRAMS, program), join(folder, program));
    await build(folder, runIn(folder));
  });
}

describe.each(LANGUAGES)('a client that is generated in $name', (language) => {
  it.runIf(language.isInstalled)('lists, creates, reads and deletes', { timeout: 400_000 }, async () => {
    const scope = testScope();
    const backend = await startHttpBackend(scope, 'sdk-1-stateful', 'notes');
    const { url } = await startServe(scope, await temporaryFolder(scope));
    const document = await (await fetch(`${url}/api/openapi.json`)).text();
    const cwd = await clientOf(language, document);
    const [file = '', ...args] = await language.command();
    const { stdout } = await promisify(execFile)(file, [...args, url, backend.url], { cwd });
    expect(JSON.parse(stdout)).toEqual({
      first: ['default'],
      created: 'lab',
      override: 'say',
      listed: [['notes', true, 'lab']],
      statuses: [202, 204, 404],
      last: ['default'],
    });
  });
});
