import { spawn } from 'node:child_process';
import { findOnPath } from '../../../gateway/workloads/runner/schemes/path.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the program that opens a URL: `$BROWSER`, else that of the system. Undefined when there is none. */
function browserProgram(env: Environment): string | undefined {
  const chosen = env['BROWSER'];
  if (chosen) return chosen.includes('/') ? chosen : findOnPath(chosen, env);
  return findOnPath(process.platform === 'darwin' ? 'open' : 'xdg-open', env);
}

/** Opens a URL in the browser of the user. A browser that cannot start is no error: the user has the URL. */
export function openBrowser(url: URL, env: Environment): void {
  const program = browserProgram(env);
  if (program === undefined) return;
  const child = spawn(program, [url.href], { detached: true, stdio: 'ignore' });
  child.once('error', () => undefined);
  child.unref();
}

/** Returns the function that opens login URLs; undefined where no user sees a browser: without a terminal, and under CI. */
export function loginBrowser(
  { isTTY = false }: { readonly isTTY?: boolean },
  env: Environment,
): ((url: string) => void) | undefined {
  const isUnderCi = !['', 'false'].includes(env['CI'] ?? '');
  if (!isTTY || isUnderCi) return undefined;
  return (url) => {
    openBrowser(new URL(url), env);
  };
}
