import type { HostVariable, Setting } from './server-spec.ts';

/** Reference of a client: `${input:NAME}`, `${env:NAME}`, `${NAME}`, `${NAME:-DEFAULT}`, `${{ secrets.NAME }}`, or a word that begins with `$NAME`. */
const REFERENCE = /\$\{\{[^{}]*\}\}|\$\{([^{}]*)\}|(?<!\S)\$[A-Z_][A-Z0-9_]+(?!\w)/gu;

/**
 * The same for one environment variable. Without `env:` only names in capitals: `${workspaceFolder}` is a variable of an
 * editor.
 */
const HOST_VARIABLE = /^\$(?:\{(?:env:([A-Za-z_]\w*)|([A-Z_][A-Z0-9_]*))\}|([A-Z_][A-Z0-9_]+))$/u;

/** Returns the references in a text, such as `${input:token}`. */
export const referencesIn = (text: string): string[] => [...text.matchAll(REFERENCE)].map(([reference]) => reference);

/** Returns a variable or header. Replaces references to `known` variables. With any other reference the value counts as missing. */
export function settingOf(name: string, text: string, known: ReadonlyMap<string, string> = new Map()): Setting {
  const value = text.replace(REFERENCE, (reference, inner: string | undefined) => known.get(inner ?? '') ?? reference);
  return referencesIn(value).length > 0 ? { name, missing: text } : { name, value };
}

/** Returns an environment variable. A value that is one reference to a variable of the host stays a reference. */
export function variableOf(name: string, text: string): Setting | HostVariable {
  const [, prefixed, inBraces, plain] = HOST_VARIABLE.exec(text) ?? [];
  const fromEnv = prefixed ?? inBraces ?? plain;
  return fromEnv === undefined ? settingOf(name, text) : { name, fromEnv };
}
