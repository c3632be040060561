import { placeholdersIn, replaced, wholePlaceholder } from './placeholders.ts';
import type { HostVariable, Setting } from './server-spec.ts';

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

/** Warns about variables and headers with a placeholder inside of a longer text, or with a default. Quotes no value. */
export const settingWarnings = (settings: readonly (Setting | HostVariable)[]): string[] =>
  settings.flatMap((setting) => {
    if ('missing' in setting) {
      const { name, missing } = setting;
      if (missing === '' || wholePlaceholder(missing)) return [];
      const shown = placeholdersIn(missing).map((placeholder) => placeholder.shown);
      return `${name} contains ${shown.join(' and ')}, which vmcp does not replace in a longer text: fill in its value`;
    }
    if (!('defaultOf' in setting)) return [];
    const { name, defaultOf } = setting;
    return `${name} has the default of ${defaultOf.join(' and ')}: write another value into its Secret where your client has one`;
  });
