import { placeholdersIn, replaced, wholePlaceholder } from './placeholders.ts';

/** Environment variable or header. `missing` is the text of the file in place of the value, such as `Bearer ${input:token}`. */
export type Setting =
  | {
      readonly name: string;
      readonly value: string;
      /** Variables whose default is in the value. */ readonly defaultOf?: readonly string[];
    }
  | { readonly name: string; readonly missing: string };

/** Environment variable whose value vmcp reads from its own environment or from a `.env`. */
export interface HostVariable {
  readonly name: string;
  readonly fromEnv: string;
  /** Value for a `.env`, which applies when the variable is not set. */
  readonly fallback?: string;
}

export type RemoteTransport = 'streamable-http' | 'sse';

/** MCP server that vmcp starts. */
export interface ProcessSpec {
  readonly runs: 'here';
  readonly image: string;
  readonly transport: 'stdio' | RemoteTransport;
  readonly args: readonly string[];
  /** Environment variables that the resource can show: plain values, and names of variables of the host. */
  readonly env: readonly ({ readonly name: string; readonly value: string } | HostVariable)[];
  /** Environment variables whose values belong in a Secret. */
  readonly secrets: readonly Setting[];
  /** Choices about a package. */
  readonly package?: PackageChoices;
  /** Folder in which a program of this machine starts. */
  readonly workingDir?: string;
  /** Folders of this machine in a container. */
  readonly volumes?: readonly Volume[];
  /** Access of a container; that of its engine when absent. */
  readonly permissionProfile?: { readonly name: 'none' };
}

export interface PackageChoices {
  /** Command, where it has another name than the package. */
  readonly command?: string;
  /** Packages that are installed with it. */
  readonly with?: readonly string[];
  /** Version of Python. */
  readonly python?: string;
  /** Environment variables of the installation. */
  readonly installEnv?: readonly { readonly name: string; readonly value: string }[];
}

export interface Volume {
  readonly name: string;
  readonly hostPath: string;
  readonly mountPath: string;
  readonly readOnly?: true;
}

/** MCP server that already runs somewhere. */
export interface RemoteSpec {
  readonly runs: 'elsewhere';
  readonly url: string;
  readonly transport: RemoteTransport;
  /** Headers of every request. Their values belong in a Secret. */
  readonly headers: readonly Setting[];
}

/** Server of a client's file or of a command line, independent of the form in which it was written. */
export type ServerSpec = ProcessSpec | RemoteSpec;

/** Settings of a server that belong to the virtual server. */
export interface ServerRules {
  /** Names of the tools that clients see. An empty list hides all tools, an absent list shows all tools. */
  readonly tools?: readonly string[];
  /** Longest wait for a reply. */
  readonly timeoutMs?: number;
}

/** Server that vmcp can use, or the reason why it cannot. No text quotes a value that may be secret. */
export type Reading =
  | { readonly server: ServerSpec; readonly warnings: readonly string[]; readonly rules?: ServerRules }
  | { readonly leftOut: string };

export interface ClientEntry {
  readonly name: string;
  readonly value: unknown;
  /** Folder of the project that has the server, in the file of Claude Code. */
  readonly project?: string;
  /** Reason why the server is left out, where the file alone shows it. */
  readonly leftOut?: string;
}

/** Problem in a client's file. */
export interface Fault {
  /** Starts at 1; absent when the whole file is meant. */
  readonly line?: number;
  readonly message: string;
}

/** Servers of a client's file in their order. */
export type ClientFile = { readonly entries: readonly ClientEntry[] } | { readonly fault: Fault };

/**
 * Returns a variable or header. Replaces placeholders of `known` variables by their values, and placeholders with a default by
 * the default. With any other placeholder the value counts as missing.
 */
export function settingOf(name: string, text: string, known: ReadonlyMap<string, string> = new Map()): Setting {
  const defaultOf: string[] = [];
  const value = replaced(text, ({ variable = '', fallback = '' }) => {
    const own = known.get(variable);
    if (own !== undefined || fallback === '') return own;
    defaultOf.push(variable);
    return fallback;
  });
  if (placeholdersIn(value).length > 0) return { name, missing: text };
  return { name, value, ...(defaultOf.length > 0 && { defaultOf }) };
}

/** Returns an environment variable. A value that is nothing but a placeholder of a host variable stays a reference to it. */
export function variableOf(name: string, text: string): Setting | HostVariable {
  const { variable: fromEnv, fallback } = wholePlaceholder(text) ?? {};
  if (fromEnv === undefined) return settingOf(name, text);
  return { name, fromEnv, ...(fallback !== undefined && { fallback }) };
}

/** Values that documentation shows in place of a key: `YOUR_API_KEY`, `<token>`, `Bearer your-token-here`, `xxx`. */
const EXAMPLE =
  /^(?:Bearer |Basic |token )?(?:<[^<>]+>|your[-_ ].+|.+[-_ ]here|replace[-_ ]?me|change[-_ ]?me|x{3,})$/iu;

/** Warns about variables and headers with a placeholder inside of a longer text, with a default or with an example. Quotes no value. */
export const settingWarnings = (settings: readonly (Setting | HostVariable)[]): string[] =>
  settings.flatMap((setting) => {
    if ('missing' in setting) {
      const { name, missing } = setting;
      if (missing === '' || wholePlaceholder(missing)) return [];
      const shown = placeholdersIn(missing).map((placeholder) => placeholder.shown);
      return `${name} contains ${shown.join(' and ')}, which vmcp does not replace in a longer text: fill in its value`;
    }
    if ('value' in setting && EXAMPLE.test(setting.value))
      return `${setting.name} has an example in place of a value: write yours`;
    if (!('defaultOf' in setting)) return [];
    const { name, defaultOf } = setting;
    return `${name} has the default of ${defaultOf.join(' and ')}: write another value into its Secret where your client has one`;
  });
