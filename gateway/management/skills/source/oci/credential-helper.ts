import { execFile } from 'node:child_process';
import { findOnPath } from '../../../../workloads/runner/schemes/path.ts';
import { parseObject } from './manifest.ts';

const TIMEOUT_MS = 10_000;
/** User name that marks an identity token in place of a password. */
const IDENTITY_TOKEN = '<token>';

/**
 * Gets the password of a server from the program `docker-credential-NAME`. Returns the `authorization` header; undefined without a
 * password.
 * @see https://docs.docker.com/reference/cli/docker/login, Credential helper protocol
 */
export async function askHelper(
  name: string,
  server: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string | undefined> {
  const program = findOnPath(`docker-credential-${name}`, env);
  if (program === undefined) return undefined;
  const output = await new Promise<Buffer | undefined>((resolve) => {
    const options = { env, timeout: TIMEOUT_MS, encoding: 'buffer' } as const;
    const child = execFile(program, ['get'], options, (error, stdout) => resolve(error ? undefined : stdout));
    child.stdin?.on('error', () => undefined); // a program that does not read ends with its own error
    child.stdin?.end(server);
  });
  const { Username: user, Secret: secret } = (output && parseObject(output)) ?? {};
  if (typeof user !== 'string' || typeof secret !== 'string' || user === IDENTITY_TOKEN) return undefined;
  return `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`;
}
