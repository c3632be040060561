import { isObject } from '../../contract/json.ts';
import type { Catalog } from './catalog.ts';
import type { ExtensionSettings } from './view.ts';

/** Identifier of the Skills extension. @see SEP-2640 */
export const SKILLS = 'io.modelcontextprotocol/skills';

/** Identifier of MCP Apps. @see SEP-1865 */
export const APPS = 'io.modelcontextprotocol/ui';

/** Identifier of the Tasks extension. @see SEP-2663 */
export const TASKS = 'io.modelcontextprotocol/tasks';

/** An extension that the gateway serves, or that passes through it. */
export interface Extension {
  /** Returns the settings with which the gateway offers it; undefined when no backend does. */
  readonly merge: (backends: readonly Catalog[]) => ExtensionSettings | undefined;
  /** True when only clients without sessions can use it: their revision has what it needs. */
  readonly isModernOnly?: true;
  /** Settings that the gateway declares to backends when it reads their lists. */
  readonly declared?: ExtensionSettings;
}

/** Extensions by identifier. What is not here is neither offered to clients nor declared to backends. @see SEP-2133 */
const EXTENSIONS: Readonly<Record<string, Extension>> = {
  [SKILLS]: {
    merge: (backends) => {
      const serving = backends.filter(({ skills }) => skills !== undefined);
      if (serving.length === 0) return undefined;
      return serving.some(({ capabilities }) => readsDirectories(capabilities)) ? { directoryRead: true } : {};
    },
    isModernOnly: true,
  },
  // backends may leave out the metadata of their apps for a client that has not declared them
  [APPS]: {
    merge: (backends) => (backends.some((each) => extensionOf(each.capabilities, APPS)) ? {} : undefined),
    declared: { mimeTypes: ['text/html;profile=mcp-app'] },
  },
  [TASKS]: {
    merge: (backends) => (backends.some((each) => extensionOf(each.capabilities, TASKS)) ? {} : undefined),
    isModernOnly: true,
  },
};

/** Returns the settings of an extension in `capabilities`; undefined for one that is not declared, or in no valid way. */
export function extensionOf(
  { extensions }: Readonly<Record<string, unknown>>,
  id: string,
): ExtensionSettings | undefined {
  const settings = isObject(extensions) ? extensions[id] : undefined;
  return isObject(settings) ? settings : undefined;
}

/** Returns true when the capabilities of a backend include `resources/directory/read`. */
export const readsDirectories = (capabilities: Readonly<Record<string, unknown>>): boolean =>
  extensionOf(capabilities, SKILLS)?.['directoryRead'] === true;

/** Returns the settings of all extensions that the gateway offers, by identifier. */
export const mergedExtensions = (backends: readonly Catalog[]): Readonly<Record<string, ExtensionSettings>> =>
  settingsBy(({ merge }) => merge(backends));

/** Returns those of `extensions` that clients with a session can use. */
export const sessionExtensions = (
  extensions: Readonly<Record<string, ExtensionSettings>>,
): Readonly<Record<string, ExtensionSettings>> =>
  settingsBy(({ isModernOnly }, id) => (isModernOnly ? undefined : extensions[id]));

/** Returns the extensions in the capabilities of a client that backends learn: those of which its calls can make use. */
export const relayedExtensions = (declared: unknown): Readonly<Record<string, ExtensionSettings>> =>
  settingsBy((_, id) => extensionOf({ extensions: declared }, id));

/** JSON text of the capabilities that the gateway declares to backends for its own requests. */
export const OWN_CAPABILITIES = JSON.stringify({ extensions: settingsBy(({ declared }) => declared) });

/** Capabilities of the protocol itself. Clients use `tasks` of 2025-11-25 only where they are offered, so not here. */
const CORE = ['tools', 'resources', 'prompts', 'completions', 'logging', 'tasks', 'extensions', 'experimental'];

/**
 * Returns the capabilities that a backend declares and the gateway does not know, sorted: extensions by their identifiers,
 * and `experimental.NAME`.
 */
export function unservedCapabilities(declared: Readonly<Record<string, unknown>>): string[] {
  const { extensions, experimental } = declared;
  return [
    ...Object.keys(declared).filter((name) => !CORE.includes(name)),
    ...(isObject(extensions) ? Object.keys(extensions).filter((id) => !Object.hasOwn(EXTENSIONS, id)) : []),
    ...(isObject(experimental) ? Object.keys(experimental).map((name) => `experimental.${name}`) : []),
  ].sort();
}

function settingsBy(
  settingsOf: (extension: Extension, id: string) => ExtensionSettings | undefined,
): Readonly<Record<string, ExtensionSettings>> {
  const settings = Object.entries(EXTENSIONS).map(([id, each]) => [id, settingsOf(each, id)] as const);
  return Object.fromEntries(settings.flatMap(([id, each]) => (each ? [[id, each]] : [])));
}
