import { redactText } from '../../../../telemetry/redact.ts';
import { LaunchError } from '../../runner.ts';
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

/** Returns the error for `step`, such as `npm install`, of a package that failed because of `cause`, a line of its output. */
export const installFailed = (step: string, requirement: string, cause: string): LaunchError =>
  new LaunchError('InstallFailed', `${step} ${requirement} failed (${cause}): see the log, then try again`, {
    shown: `${step} ${requirement} failed (${shownCause(cause)}): the start is retried, and the log has the output`,
  });

const MAX_CAUSE_LENGTH = 300;

/** Returns a line of an installer for users: without the credentials, paths and parameters of URLs, and without other secrets. */
const shownCause = (line: string): string =>
  redactText(line.replace(/(\bhttps?:\/\/)(?:[^/\s@]*@)?([^/\s,;)`'"]*)[^\s,;)`'"]*/giu, '$1$2')).slice(
    0,
    MAX_CAUSE_LENGTH,
  );

/** Returns the error for an installed package with these commands, of which none can be run as `wanted`, or by its name. */
export function noCommand(name: string, commands: readonly string[], wanted: string | undefined): LaunchError {
  const names = commands.join(', ');
  const has =
    commands.length === 0
      ? 'has no command to run: use a package whose own command is an MCP server'
      : wanted === undefined
        ? `has several commands (${names}): set package.command to the one that is an MCP server`
        : `has no command ${wanted}, but ${names}: set package.command to one of them`;
  return new LaunchError('PackageHasNoBin', `package ${name} ${has}`);
}
