import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'vmcp-operator-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** Runs `vmcp operator` with a kubeconfig. An operator that starts is stopped after 60 s. */
async function operator(kubeconfig: string) {
  const { KUBERNETES_SERVICE_HOST: _host, ...outside } = process.env;
  const env = { ...outside, GATEWAY_IMAGE: 'gateway:1', KUBECONFIG: kubeconfig };
  const args = [join(import.meta.dirname, '..', 'main.ts'), 'operator', '--metrics-port', '0'];
  const child = spawn(process.execPath, args, { env, timeout: 60_000 });
  const exit = new Promise((resolve) => child.once('exit', resolve));
  const [code, stderr] = await Promise.all([exit, text(child.stderr)]);
  return { code, stderr };
}

describe('vmcp operator', () => {
  it('reports a missing kubeconfig and exits 2', async () => {
    expect(await operator(join(dir, 'missing'))).toEqual({
      code: 2,
      stderr:
        'no connection to an API server: no kubeconfig found: set KUBECONFIG to the file of a cluster, or run in a pod of the cluster\n',
    });
  });

  it.each([
    ['is empty', '', /^no connection to an API server: .+\n$/u],
    ['has no current context', 'apiVersion: v1\nkind: Config\n', /^no connection to an API server: .*context.+\n$/u],
  ])('reports in one line a kubeconfig that %s, and exits 2', async (_what, content, line) => {
    const file = join(dir, 'kubeconfig');
    await writeFile(file, content);
    expect(await operator(file)).toEqual({ code: 2, stderr: expect.stringMatching(line) as unknown });
  });
});
