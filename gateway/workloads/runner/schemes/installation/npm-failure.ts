import { causeIn } from '../../process/stderr-cause.ts';

/** Lines of npm that name no cause: its codes, the places where it happened, and advice. */
const NO_CAUSE =
  /^(?:$|code |syscall |errno |path |command |dest |signal |engine |A complete log|Log files|If you are behind|This is a problem related|In most cases|Not compatible with your version|Actual: )/u;
/** Words that npm writes before lines of a kind, such as `network request to ... failed`. */
const TAG = /^(?:network|notsup|nospc|enoent|(\d{3}) (?=\1)|[A-Za-z]*Error:)\s*(?=\S)/u;

/** Returns the line of npm's output that names the cause of a failed installation. */
export function npmCause(stderr: string): string {
  const written = stderr
    .split('\n')
    .filter((line) => /^npm (?:error|ERR!)/u.test(line))
    .map((line) => line.replace(/^npm (?:error|ERR!)\s?/u, ''));
  const lines = written.filter((line) => !NO_CAUSE.test(line.replace(TAG, '').trim()));
  if (written.includes('command failed')) {
    const cause = causeIn(lines) ?? lines[0]?.trim();
    return cause === undefined ? 'its install script failed' : `its install script failed: ${cause}`;
  }
  const required = lines.map((line) => /^notsup Required:\s*(\S.*)$/u.exec(line)?.[1]).find(Boolean);
  if (required !== undefined) return `it needs ${required}`;
  const code = written.find((line) => line.startsWith('code '))?.slice('code '.length);
  return lines[0]?.replace(TAG, '').trim() ?? code ?? 'no message';
}
