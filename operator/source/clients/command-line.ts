import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';
import { SERVER_COMMANDS } from './commands/index.ts';
import { isTextList } from './texts.ts';

/** Command line as a client starts it. */
export interface CommandLine {
  readonly command: string;
  readonly args: readonly string[];
  /** Variables in the command line itself, as in `env KEY=value npx`. */
  readonly env?: ReadonlyMap<string, string>;
}

/** Returns the command line as it is written. Zed also writes `command: {path, args, env}`, and other clients a list. */
export function commandLineOf(value: JsonObject): { command: unknown; args: unknown; env?: unknown } {
  const { command, args = [] } = value;
  if (isObject(command)) return { command: command['path'], args: command['args'] ?? args, env: command['env'] };
  if (!isTextList(command) || !isTextList(args)) return { command, args };
  return { command: command[0], args: [...command.slice(1), ...args] };
}

/** Programs that run the command in their arguments. */
const WRAPPERS = new Map([
  ['cmd', afterCmd],
  ['env', afterEnv],
]);

/** Removes `cmd /c` and `env`, and splits a command that some people write with its first arguments. */
export function unwrapped(command: string, args: readonly string[]): CommandLine {
  const inner = WRAPPERS.get(programOf(command))?.(args);
  if (inner) {
    const line = unwrapped(inner.command, inner.args);
    return inner.env || line.env ? { ...line, env: new Map([...(inner.env ?? []), ...(line.env ?? [])]) } : line;
  }
  const [first = '', ...words] = wordsOf(command);
  return words.length > 0 && SERVER_COMMANDS.has(programOf(first))
    ? { command: first, args: [...words, ...args] }
    : { command, args };
}

/** Returns the command after `/c` and other options such as `/d` and `/s`. The command may be a single text. */
function afterCmd(args: readonly string[]): CommandLine | undefined {
  const end = args.findIndex((arg) => arg.toLowerCase() === '/c');
  if (end === -1 || !args.slice(0, end).every((arg) => /^\/[dqs]$/iu.test(arg))) return undefined;
  const [command, ...rest] = args.slice(end + 1);
  return command === undefined ? undefined : { command, args: rest };
}

/** Returns the command after the variables of `env`, and after `-S`, which splits a text. */
function afterEnv(args: readonly string[]): CommandLine | undefined {
  const [option, text, ...more] = args;
  const words = option === '-S' || option === '--split-string' ? [...wordsOf(text ?? ''), ...more] : args;
  const start = words.findIndex((word) => !/^[A-Za-z_]\w*=/u.test(word));
  const command = words[start];
  if (command === undefined || command.startsWith('-')) return undefined;
  const pairs = words.slice(0, start).map((word) => {
    const at = word.indexOf('=');
    return [word.slice(0, at), word.slice(at + 1)] as const;
  });
  return { command, args: words.slice(start + 1), ...(pairs.length > 0 && { env: new Map(pairs) }) };
}

/** Splits at spaces; a text with quotes or backslashes is not split. */
const wordsOf = (text: string): string[] => (/["'\\]/u.test(text) ? [] : text.trim().split(/\s+/u));

/** Returns the name of a program: `C:\nodejs\npx.cmd` and `/usr/bin/npx` are `npx`. */
export const programOf = (command: string): string =>
  command
    .replace(/^.*[\\/]/su, '')
    .replace(/\.(?:exe|cmd|bat|ps1)$/iu, '')
    .toLowerCase();
