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
