import { Command, InvalidArgumentError, Option } from 'commander';
import { LOG_FORMATS, LOG_LEVELS } from '../../../gateway/contract/logger.ts';
import { failureOf } from '../exit.ts';

export interface CommandFacts {
  readonly name: string;
  /** One sentence without a period, as the list of commands shows it. */
  readonly does: string;
  /** A command line to try, shown at the end of the help. */
  readonly example: string;
  /** True for a command that writes a log. The others accept the options of the log without listing them. */
  readonly logs?: boolean;
  /** True for a command that sends requests, or starts what sends them: it uses the proxies of the environment. */
  readonly network?: boolean;
}

/** Variables that name a proxy. Without such a variable a command does not load the HTTP client. */
const PROXY_VARIABLE = /^https?_proxy$/iu;

/** Makes the requests of a command use the proxies of the environment. @throws CommanderError for one that is no URL of a proxy */
async function applyProxies(command: Command): Promise<void> {
  if (!Object.keys(process.env).some((name) => PROXY_VARIABLE.test(name))) return;
  const { useProxies } = await import('../../../gateway/outbound/use-proxies.ts');
  try {
    useProxies(process.env);
  } catch (error) {
    command.showHelpAfterError(false).error(failureOf(error).message);
  }
}

/** Creates a command with the parts that all have: an example and, behind its own options, those of the log. */
export function defineCommand(facts: CommandFacts, define: (command: Command) => Command): Command {
  const format = new Option('--log-format <format>', 'lines of the log (default: text on a terminal, else json)');
  const level = new Option(
    '--log-level <level>',
    'lowest level of the log (default: that of the resources, else info)',
  );
  const command = new Command(facts.name).description(facts.does).addHelpText('after', exampleText(facts.example));
  if (facts.network === true) command.hook('preAction', applyProxies);
  return define(command)
    .addOption(format.choices(LOG_FORMATS).hideHelp(facts.logs !== true))
    .addOption(level.choices(LOG_LEVELS).hideHelp(facts.logs !== true));
}

export const exampleText = (commandLine: string): string => `\nExample:\n  ${commandLine}`;

export const PATHS = ['<paths...>', 'YAML or JSON files, folders of them, or - for standard input'] as const;

export const outputOption = (): Option =>
  new Option('-o, --output <format>', 'print one JSON document').choices(['json']);

/** Folder that `init`, `import`, `add` and `remove` use without `--dir`. */
export const DEFAULT_DIR = 'vmcp';

export const dirOption = (description: string): Option => new Option('--dir <dir>', description).default(DEFAULT_DIR);

export const secretsDirOption = (): Option =>
  new Option('--secrets-dir <dir>', 'folder of Secrets: DIR/<secret>/<key>');

export const stateOption = (): Option =>
  new Option('--state <dir>', 'state folder of vmcp up (default: $XDG_STATE_HOME/vmcp)');

/** @throws InvalidArgumentError for anything but an http or https URL */
export function httpUrl(text: string): string {
  const { protocol } = URL.parse(text) ?? {};
  if (protocol !== 'http:' && protocol !== 'https:') throw new InvalidArgumentError('must be an http or https URL.');
  return text;
}

/** @throws InvalidArgumentError for anything but a port number; 0 lets the system choose. */
export function port(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > 65_535)
    throw new InvalidArgumentError('must be a number from 0 to 65535.');
  return value;
}
