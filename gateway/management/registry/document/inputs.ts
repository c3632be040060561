import { filled, placeholdersIn } from '../../../workloads/definition/entry/entry-variables.ts';
import type { EnvVar, Header } from '../schema/entries.ts';
import type { PackageArgument, KeyValueInput } from '../schema/server-json.ts';

type Input = Omit<KeyValueInput, 'name'>;

/** Text of an input, and the values in braces that only the user can give. `text` is undefined for an input without a value. */
interface Resolved {
  readonly text?: string;
  readonly asked: readonly Header[];
}

/** Words of a command line, and the values in braces that only the user can give. */
interface Words {
  readonly words: readonly string[];
  readonly asked: readonly Header[];
}

/** Returns the fixed value or the default of a variable. */
export const inputValue = ({ value, default: fallback }: Pick<Input, 'value' | 'default'>): string | undefined =>
  value ?? fallback;

/** Describes a value that the user gives. */
export const asked = (
  name: string,
  { description = '', isRequired = false, isSecret, choices = [], ...input }: Input,
) => {
  const fallback = inputValue(input);
  return {
    name,
    description,
    required: isRequired,
    ...(fallback !== undefined && { default: fallback }),
    ...(isSecret === true && { secret: true }),
    ...(choices.length > 0 && { choices }),
  } satisfies Header;
};

/**
 * Returns the value of an input with the defaults of its variables. If variables without a default remain, a required value keeps their
 * names in braces, and an optional value is replaced by the default of the input.
 */
export function resolved(input: Input): Resolved {
  const { value, default: fallback, isRequired = false, variables = {} } = input;
  const open = (text: string | undefined): Resolved => ({ ...(text !== undefined && { text }), asked: [] });
  if (value === undefined) return open(fallback);
  const text = filled(value, (name) => inputValue(variables[name] ?? {}));
  const missing = placeholdersIn(text).filter((name) => inputValue(variables[name] ?? {}) === undefined);
  if (missing.length === 0) return open(text);
  if (!isRequired && !missing.some((name) => variables[name]?.isRequired === true)) return open(fallback);
  return { text, asked: missing.map((name) => asked(name, { ...variables[name], isRequired: true })) };
}

/** Describes an environment variable. It has no default while its value has variables without a default. */
export function asVariable({ name, ...input }: KeyValueInput): EnvVar {
  const { description = '', isRequired = false, isSecret } = input;
  const { text, asked: values } = resolved(input);
  const variables = Object.values(input.variables ?? {});
  const hidden = isSecret ?? variables.some((variable) => variable.isSecret === true);
  return {
    name,
    description: description === '' ? (variables[0]?.description ?? '') : description,
    required: isRequired || values.length > 0,
    ...(text !== undefined && values.length === 0 && { default: text }),
    ...(hidden && { secret: true }),
  };
}

/** Describes a header. */
export const asHeader = ({ choices = [], ...input }: KeyValueInput): Header => ({
  ...asVariable(input),
  ...(choices.length > 0 && { choices }),
});

/** Returns the words of arguments: a flag without a value is a single word, and an optional argument without a value is left out. */
export function argumentWords(given: readonly PackageArgument[]): Words {
  const all = given.map(wordsOfOne);
  return { words: all.flatMap(({ words }) => words), asked: all.flatMap(({ asked: values }) => values) };
}

function wordsOfOne(argument: PackageArgument): Words {
  const { type = argument.name === undefined ? 'positional' : 'named', valueHint } = argument;
  const name = type === 'named' ? argument.name : undefined;
  const { text, asked: values } = resolved(argument);
  if (text !== undefined) return { words: joined(name, text), asked: values };
  if (name !== undefined && isFlag(argument)) return { words: [name], asked: [] };
  if (argument.isRequired !== true) return { words: [], asked: [] };
  const key = (valueHint ?? name ?? 'argument').replaceAll(/^-+|[^\w$.-]/gu, '');
  return { words: joined(name, `{${key}}`), asked: [asked(key, argument)] };
}

/** An empty value belongs to a flag, which stands alone. */
function joined(name: string | undefined, text: string): string[] {
  if (name === undefined) return [text];
  if (name.endsWith('=')) return [name + text];
  return text === '' ? [name] : [name, text];
}

/** Returns true for a flag: nothing about the argument describes a value, or its value is a boolean that it requires. */
function isFlag({ value, format, description = '', isRequired = false, ...argument }: PackageArgument): boolean {
  if (value !== undefined) return false;
  if (format === 'boolean') return isRequired || description === '';
  const { placeholder, choices = [], isSecret = false, valueHint } = argument;
  return (
    [format, placeholder, valueHint].every((text) => text === undefined) &&
    description === '' &&
    choices.length === 0 &&
    !isSecret
  );
}
