import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { freePort } from '../harness/free-port.ts';
import { eventually } from '../harness/poll.ts';
import { testScope, type Scope } from '../harness/scope.ts';
import { runVmcp, temporaryFolder, type Run } from '../harness/vmcp.ts';

const CANARY = 'canary-5f02';
const CLIENTS = 8;

interface Server {
  readonly run: Run;
  readonly send: (method: string, path: string, body?: object) => Promise<{ status: number; text: string }>;
}

/** Starts `vmcp serve` with a password file. */
async function serve(scope: Scope, state: string): Promise<Server> {
  const port = String(await freePort());
  const password = join(await temporaryFolder(scope), 'password');
  writeFileSync(password, `${CANARY}-password\n`);
  const env = { VMCP_SECRETS_PASSWORD_FILE: password };
  const run = await runVmcp(scope, ['serve', '--port', port, '--state', state], { env });
  await eventually('vmcp serve listens', () => run.stdout().includes('/api/v1beta'));
  const send: Server['send'] = async (method, path, body) => {
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1beta/secrets${path}`, { method, ...init });
    return { status: answer.status, text: await answer.text() };
  };
  return { run, send };
}

/** Creates secrets until the server is gone. Returns the names of the acknowledged ones. */
async function createUntilTheEnd({ send }: Server, client: number, created: string[]): Promise<void> {
  for (let index = 0; ; index += 1) {
    const key = `${String(client)}-${String(index)}`;
    const answer = await send('POST', '/default/keys', { key, value: `${CANARY}-${key}` }).catch(() => undefined);
    if (answer === undefined) return;
    expect(answer.status).toBe(201);
    created.push(key);
  }
}

it('keeps the secrets of vmcp serve through kill -9, in a file without a value in clear', async () => {
  const scope = testScope();
  const state = await temporaryFolder(scope);
  const first = await serve(scope, state);
  expect(await first.send('POST', '', { provider_type: 'encrypted' })).toMatchObject({ status: 201 });
  const created: string[] = [];
  const clients = Array.from({ length: CLIENTS }, (_, client) => createUntilTheEnd(first, client, created));
  await eventually('40 secrets are created', () => created.length >= 40);
  first.run.signal('SIGKILL');
  await Promise.all(clients);

  const second = await serve(scope, state);
  const { keys } = JSON.parse((await second.send('GET', '/default/keys')).text) as { keys: { key: string }[] };
  const present = new Set(keys.map(({ key }) => key));
  expect(created.filter((key) => !present.has(key))).toEqual([]);
  expect(await second.send('PUT', '/default/keys/0-0', { value: `${CANARY}-new` })).toMatchObject({ status: 200 });
  await second.run.stop();

  expect(first.run.output() + second.run.output()).not.toContain(CANARY);
  const files = globSync('**/*', { cwd: state }).filter((file) => statSync(join(state, file)).isFile());
  expect(files).toContain('secrets_encrypted');
  expect(files.filter((file) => readFileSync(join(state, file)).includes(CANARY))).toEqual([]);
});
