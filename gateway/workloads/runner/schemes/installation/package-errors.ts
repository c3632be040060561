import { redactText } from '../../../../telemetry/redact.ts';
import { LaunchError } from '../../runner.ts';

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
