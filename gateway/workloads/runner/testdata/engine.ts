import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findOnPath } from '../schemes/path.ts';

export interface Engine {
  /** Absent when no engine can run a container here. */
  readonly name?: string;
  /** Environment for the engine's client. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

interface TestImage {
  readonly image: string;
  /** Program of the image, in JavaScript. */
  readonly server: string;
  /** Contents of further files, by path. */
  readonly files?: Readonly<Record<string, string>>;
  /** Paths of copies of a harmless library. */
  readonly libraries?: readonly string[];
  /** Instructions of a Dockerfile. */
  readonly changes?: readonly string[];
}

/**
 * Finds docker or podman if it can run a container here, and imports `image`. Without CAP_SYS_RESOURCE (in a sandbox)
 * podman cannot set rlimits, so runc-without-rlimits.sh wraps runc.
 */
export function workingEngine(scratch: string, image: TestImage): Engine {
  const env: Record<string, string | undefined> = { ...process.env };
  if (process.platform !== 'linux') return { env };
  const name = ['docker', 'podman'].find((each) => spawnSync(each, ['info'], { timeout: 15_000 }).status === 0);
  if (name === undefined) return { env };
  importImage(name, scratch, image);
  const runs = (): boolean => {
    const options = { env, input: '', timeout: 30_000 };
    return spawnSync(name, ['run', '--rm', '-i', '--network', 'none', image.image], options).status === 0;
  };
  if (runs()) return { name, env };
  if (name === 'podman' && findOnPath('runc', process.env)) env['CONTAINERS_CONF'] = podmanOverRunc(scratch);
  return runs() ? { name, env } : { env };
}

function podmanOverRunc(scratch: string): string {
  const runc = join(scratch, 'runc');
  copyFileSync(join(import.meta.dirname, 'runc-without-rlimits.sh'), runc);
  chmodSync(runc, 0o755);
  const conf = join(scratch, 'containers.conf');
  writeFileSync(conf, `[engine]\nruntime="runc"\n[engine.runtimes]\nrunc=["${runc}"]\n`);
  return conf;
}

/** Builds an image of this machine's Node and its libraries, so that nothing is pulled. */
function importImage(engine: string, scratch: string, image: TestImage): void {
  const root = join(scratch, 'root');
  const linked = execFileSync('ldd', [process.execPath], { encoding: 'utf8' });
  const libraries = [...linked.matchAll(/(\/\S+) \(0x/g)].map(([, path = '']) => path);
  const harmless = libraries.find((path) => path.includes('libm.')) ?? '';
  const copied = [
    ...libraries.map((path) => [path, path] as const),
    ...(image.libraries ?? []).map((path) => [harmless, path] as const),
    [process.execPath, '/node'] as const,
  ];
  for (const [from, to] of copied) {
    mkdirSync(dirname(join(root, to)), { recursive: true });
    copyFileSync(from, join(root, to));
  }
  chmodSync(join(root, 'node'), 0o755);
  for (const [path, content] of Object.entries({ ...image.files, '/server.cjs': image.server })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  execFileSync('tar', ['-cf', join(scratch, 'root.tar'), '-C', root, '.']);
  const changes = ['ENTRYPOINT ["/node","/server.cjs"]', ...(image.changes ?? [])];
  const args = ['import', ...changes.flatMap((change) => ['--change', change]), join(scratch, 'root.tar'), image.image];
  execFileSync(engine, args, { stdio: 'ignore' });
}
