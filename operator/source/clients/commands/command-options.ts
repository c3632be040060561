/** Options of a command that vmcp understands. */
interface OptionRules {
  /** Options without a value. */
  readonly flags: readonly string[];
  /** Options with a value, each with its aliases: `-e` and `--env`. */
  readonly valued: readonly string[];
}

export interface ReadOptions {
  /** Options with a value, in their order. */
  readonly values: readonly (readonly [option: string, value: string])[];
  /** Everything from the first argument that is not an option. */
  readonly rest: readonly string[];
  /** First option that is not in the rules. */
  readonly unknown?: string;
}

/** Reads the options before the first other argument. Skips flags; `--` ends the options. */
export function readOptions(args: readonly string[], { flags, valued }: OptionRules): ReadOptions {
  const values: [string, string][] = [];
  let at = 0;
  for (; at < args.length; at += 1) {
    const arg = args[at] ?? '';
    if (arg === '--') {
      at += 1;
      break;
    }
    if (!arg.startsWith('-')) break;
    if (flags.includes(arg)) continue;
    const [, option = arg, inline] = /^(-[^=]*)=(.*)$/su.exec(arg) ?? [];
    const value = inline ?? args[at + 1];
    if (!valued.includes(option) || value === undefined) return { values, rest: [], unknown: option };
    values.push([option, value]);
    if (inline === undefined) at += 1;
  }
  return { values, rest: args.slice(at) };
}

/** Returns the values of an option with its aliases. */
export const valuesOf = ({ values }: ReadOptions, ...names: readonly string[]): string[] =>
  values.filter(([option]) => names.includes(option)).map(([, value]) => value);
