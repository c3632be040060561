import type { Setting } from './server-spec.ts';

/** Reference of a client: `${input:NAME}`, `${env:NAME}`, `${NAME}` or `${NAME:-DEFAULT}`. */
const REFERENCE = /\$\{([^{}]*)\}/gu;

/** Returns the references in a text, such as `${input:token}`. */
export const referencesIn = (text: string): string[] => [...text.matchAll(REFERENCE)].map(([reference]) => reference);

/** Returns a variable or header. Replaces references by `known` variables; a value with another one is missing. */
export function settingOf(name: string, text: string, known: ReadonlyMap<string, string> = new Map()): Setting {
  const value = text.replace(REFERENCE, (reference, inner: string) => known.get(inner) ?? reference);
  const isMissing = referencesIn(text).some((reference) => !known.has(reference.slice(2, -1)));
  return isMissing ? { name, missing: text } : { name, value };
}
