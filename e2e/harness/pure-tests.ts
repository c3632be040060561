import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** Words in tests with side effects: processes, servers, files, the environment, clocks. */
const EFFECTS = new RegExp(
  [
    String.raw`node:(http|https|http2|net|tls|dgram|dns|os|timers|child_process|worker_threads|cluster)\b`,
    String.raw`from '(express|undici|ioredis|vitest/node)'`,
    String.raw`\b(fetch|mkdtemp|mkdtempSync|createServer|setTimeout|sleep|setDefaultCACertificates|start[A-Z]\w*)\(`,
    String.raw`\b(writeFile|watch|listen|stubEnv|spyOn|globalThis)`,
    String.raw`\bvi\.|process\.(env|chdir|kill|on|once|exit|cpuUsage)\b`,
  ].join('|'),
);

/** Imports of other test code. Imports of the product are not followed: a module with effects can have pure functions. */
const TEST_CODE = /from '(\.[^']*(?:\/testdata\/|e2e\/|\.\/)[^']*\.ts)'/gu;

/** Returns true when neither the file nor the test code that it imports has side effects. */
function isPure(root: string, file: string, seen = new Set<string>()): boolean {
  seen.add(file);
  const text = readFileSync(join(root, file), 'utf8');
  if (EFFECTS.test(text)) return false;
  const imported = [...text.matchAll(TEST_CODE)]
    .map(([, path = '']) => normalize(join(dirname(file), path)))
    .filter((path) => /(^|\/)testdata\/|^e2e\//u.test(path) && !seen.has(path) && existsSync(join(root, path)));
  return imported.every((path) => isPure(root, path, seen));
}

/** Lists the test files without side effects, which can share threads, relative to the root of the repository. */
export function pureTests(root: string): string[] {
  const files = globSync('{.ci,crds,docs,gateway,operator,e2e}/**/*.test.ts', { cwd: root });
  return files.filter((file) => !/^e2e\/(cluster|operator)\//u.test(file) && isPure(root, file)).toSorted();
}
