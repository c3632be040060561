import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { freePort } from '../harness/free-port.ts';
import { eventually } from '../harness/poll.ts';
import { hasPython, python } from '../harness/python.ts';
import { testScope, type Scope } from '../harness/scope.ts';
import { runVmcp, temporaryFolder } from '../harness/vmcp.ts';

const run = promisify(execFile);

/** Returns a folder with programs that fail at once, so that no image is pulled and no package installed. */
async function brokenTools(scope: Scope): Promise<string> {
  const folder = await temporaryFolder(scope);
  for (const name of ['docker', 'podman', 'npm', 'uv', 'python3'])
    await writeFile(join(folder, name), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  return folder;
}

it.runIf(hasPython)(
  'answers as its OpenAPI document says, whatever schemathesis sends',
  { timeout: 900_000 },
  async () => {
    const scope = testScope();
    const schemathesis = join(dirname(await python()), 'schemathesis');
    const url = `http://127.0.0.1:${String(await freePort())}`;
    const state = await temporaryFolder(scope);
    // Without the password the test would use the keyring of the machine.
    const env = {
      VMCP_SECRETS_PASSWORD: 'of-the-test',
      PATH: `${await brokenTools(scope)}:${process.env['PATH'] ?? ''}`,
    };
    const serve = await runVmcp(scope, ['serve', '--port', new URL(url).port, '--state', state], { env });
    await eventually('vmcp serve listens', () => serve.stdout().includes('Stop with Ctrl-C'));
    const secrets = { method: 'POST', body: JSON.stringify({ provider_type: 'encrypted' }) };
    expect((await fetch(`${url}/api/v1beta/secrets`, secrets)).status).toBe(201);
    const argv = ['run', `${url}/api/openapi.json`, '--url', url, '--max-examples', '6', '--seed', '1', '--no-color'];
    // A schema cannot say which names exist, and null counts as absent.
    const isNoFault = 'positive_data_acceptance,negative_data_rejection';
    argv.push('--exclude-operation-id', 'addRegistry'); // always answers 501, as the operation says
    // It answers 500 when a provider does not work, such as 1password without a token.
    argv.push('--exclude-operation-id', 'setUpSecrets');
    const cwd = await temporaryFolder(scope);
    const report = await run(schemathesis, [...argv, '--exclude-checks', isNoFault], { cwd }).catch(
      (error: unknown) => ({ stdout: `failed:\n${(error as { stdout?: string }).stdout ?? ''}` }),
    );
    expect(report.stdout).not.toMatch(/^failed:/u);
    expect(report.stdout).toMatch(/[1-9]\d* generated, [1-9]\d* passed/u);
    expect(serve.stderr()).not.toContain('unexpectedly');
  },
);
