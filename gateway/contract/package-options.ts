import { ATOMIC, text, textMap, texts } from './optional.ts';

/** Name of a command in the folder of a package's commands. */
const COMMAND = { pattern: '^[A-Za-z0-9_][A-Za-z0-9._-]*$', maxLength: 128 };
/** Characters of a requirement, a name or a path: no option, and nothing that a terminal hides. */
const PRINTABLE = { pattern: '^[^-\\x00-\\x1f\\x7f][^\\x00-\\x1f\\x7f]*$', maxLength: 512 };

const COMMAND_TEXT = 'Command to run, where it has another name than the package.';
const WITH_TEXT = 'Packages that are installed with it, each as npm or pip accepts it.';
const PYTHON_TEXT = '`uvx://` only: Python to run it with, such as `3.12`, `>=3.12` or the path of an interpreter.';

export const PACKAGE_TEXT = 'Installation of an `npx://` or `uvx://` package.';
export const INSTALL_ENV_TEXT = 'Environment variables of the installation only, such as `PUPPETEER_SKIP_DOWNLOAD`.';
export const WORKING_DIR_TEXT = '`command://` only: absolute path of the folder in which the program starts.';

/** Members of `package` in an MCPServer. */
export const packageFields = {
  command: text(COMMAND_TEXT, COMMAND),
  with: texts(WITH_TEXT, { maxItems: 32, ...ATOMIC }, PRINTABLE),
  python: text(PYTHON_TEXT, PRINTABLE),
};

/** Members of `package` in a configuration of the gateway. */
export const packageOptions = {
  command: text(COMMAND_TEXT),
  with: texts(WITH_TEXT),
  python: text(PYTHON_TEXT),
  install_env: textMap(INSTALL_ENV_TEXT),
};

/** Returns the members whose values a package manager or the file system would read as something else. */
export function packageFaults({ command, with: others = [], python }: Choices): (keyof Choices)[] {
  const [name, printable] = [new RegExp(COMMAND.pattern, 'u'), new RegExp(PRINTABLE.pattern, 'u')];
  return [
    ...(command && !name.test(command) ? (['command'] as const) : []),
    ...(others.every((each) => printable.test(each)) ? [] : (['with'] as const)),
    ...(python && !printable.test(python) ? (['python'] as const) : []),
  ];
}

interface Choices {
  readonly command?: string;
  readonly with?: readonly string[];
  readonly python?: string;
}
