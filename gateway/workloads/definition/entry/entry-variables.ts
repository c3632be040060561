import type { RegistryEntry } from './registry-entry.ts';
import type { WorkloadSettings } from '../settings.ts';

type Values = Readonly<Record<string, string>>;

/** Name in braces. Other braces, such as those of JSON, are text. */
const PLACEHOLDER = /\{([\w$.-]+)\}/gu;

/** Replaces the names in braces that have a value. */
export const filled = (template: string, valueOf: (name: string) => string | undefined): string =>
  template.replaceAll(PLACEHOLDER, (whole, name: string) => valueOf(name) ?? whole);

/** Lists the names in braces. */
export const placeholdersIn = (template: string): string[] =>
  [...template.matchAll(PLACEHOLDER)].map(([, name = '']) => name);

/** Returns true for a text that the template becomes when each name in braces has a value that is not empty. Takes linear time. */
export function canBecome(template: string, text: string): boolean {
  const [start = '', ...others] = template.split(PLACEHOLDER).filter((_part, index) => index % 2 === 0); // without the names
  const end = others.pop();
  if (end === undefined) return text === template;
  if (!text.startsWith(start)) return false;
  let at = start.length;
  for (const part of others) {
    const found = text.indexOf(part, at + 1);
    if (found === -1) return false;
    at = found + part.length;
  }
  return text.endsWith(end) && text.length - end.length > at;
}

/** Returns the entry with a value in place of each name in braces: the given value, else the default. Pure. */
export function withValues(entry: RegistryEntry, values: Values): RegistryEntry {
  const { url_template: template, args, permissions } = entry;
  const defaults = new Map((entry.variables ?? []).map(({ name, default: value }) => [name, value]));
  const fill = (text: string): string =>
    filled(text, (name) => (Object.hasOwn(values, name) ? values[name] : defaults.get(name)));
  const { read, write } = permissions ?? {};
  return {
    ...entry,
    ...(template !== undefined && { url: fill(template) }),
    ...(args && { args: args.map(fill) }),
    ...(permissions && {
      permissions: { ...permissions, ...(read && { read: read.map(fill) }), ...(write && { write: write.map(fill) }) },
    }),
  };
}

/** Returns the values without those of secret variables, which must not be logged or returned. */
export const openValues = ({ variables = [] }: RegistryEntry, values: Values): Values =>
  Object.fromEntries(
    Object.entries(values).filter(([name]) => variables.every((one) => one.name !== name || one.secret !== true)),
  );

/** Returns the reason why the values do not fit an entry; undefined if they fit. Settings of the request replace those of the entry. Pure. */
export function valueFault(entry: RegistryEntry, request: WorkloadSettings, values: Values): string | undefined {
  const { variables = [], url_template: template, args = [], permissions } = entry;
  const isKnown = (name: string): boolean => variables.some((variable) => variable.name === name);
  const unknown = Object.keys(values).find((name) => !isKnown(name));
  if (unknown !== undefined) return `has no variable ${unknown}: remove it from "variables"`;
  const wrong = variables.find(
    ({ name, choices }) => values[name] !== undefined && choices?.includes(values[name]) === false,
  );
  if (wrong) return `takes one of ${(wrong.choices ?? []).join(', ')} as ${wrong.name}: correct it in "variables"`;
  const texts = [
    ...(template === undefined ? [] : [template]),
    ...(request.cmd_arguments ? [] : args),
    ...(request.permission_profile ? [] : [...(permissions?.read ?? []), ...(permissions?.write ?? [])]),
  ];
  const used = new Set(texts.flatMap(placeholdersIn));
  const missing = variables.filter(
    ({ name, default: fallback }) => used.has(name) && (values[name] ?? fallback ?? '') === '',
  );
  if (missing.length === 0) return undefined;
  const each = missing.map(({ name, description = '' }) => (description === '' ? name : `${name} (${description})`));
  return `needs values for ${each.join(', ')}: set them in "variables"`;
}
