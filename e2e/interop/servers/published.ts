import type { ServerEntry } from './registry.ts';

/** Entry of `mcpServers` in the file of a client. */
export interface PublishedServer {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Package and command that a published configuration names. */
export interface Named {
  readonly image: string;
  readonly version: string;
  /** Command of the package, where the configuration names one. */
  readonly program: string | undefined;
}

/** Returns the entry for the file of a client, with `folder` in place of `{folder}`. */
export function publishedServer({ command, env }: ServerEntry, folder: string): PublishedServer {
  const fill = (text: string): string => text.replaceAll('{folder}', folder);
  const [file = '', ...args] = command.split(' ').map(fill);
  if (env === undefined) return { command: file, args };
  return {
    command: file,
    args,
    env: Object.fromEntries(Object.entries(env).map(([name, text]) => [name, fill(text)])),
  };
}

/** Returns what the command of an entry names: `npx -y PACKAGE@VERSION`, `uvx PACKAGE==VERSION` or `uvx --from PACKAGE PROGRAM`. */
export function namedBy({ command }: Pick<ServerEntry, 'command'>): Named {
  const [file = '', ...args] = command.split(' ');
  const isFrom = args[0] === '--from';
  const spec = (isFrom ? args[1] : args.find((arg) => !arg.startsWith('-'))) ?? '';
  const version = /(?:==|(?<=.)@)([^@=]+)$/u.exec(spec)?.[1] ?? '';
  return { image: `${file}://${spec}`, version, program: isFrom ? args[2] : undefined };
}
