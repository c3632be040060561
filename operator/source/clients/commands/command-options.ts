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
export function readOptions(args: readonly string[], rules: OptionRules): ReadOptions {
  const values: [string, string][] = [];
  let at = 0;
  for (; at < args.length; at += 1) {
    const arg = args[at] ?? '';
    if (arg === '--') {
      at += 1;
      break;
    }
    if (!arg.startsWith('-')) break;
    const { option, inline } = optionIn(arg, rules);
    if (isFlag(option, inline, rules)) continue;
    const value = inline ?? args[at + 1];
    if (!rules.valued.includes(option) || value === undefined) return { values, rest: [], unknown: option };
    values.push([option, value]);
    if (inline === undefined) at += 1;
  }
  return { values, rest: args.slice(at) };
}

interface WrittenOption {
  readonly option: string;
  /** Value in the same argument. */
  readonly inline?: string;
}

/** Splits `--name=value`, `-e=value`, `-evalue` and, after flags in the same argument, `-ievalue`. */
function optionIn(arg: string, { flags, valued }: OptionRules): WrittenOption {
  if (!arg.startsWith('--')) {
    const last = Array.from(arg.slice(1)).findIndex((letter) => !flags.includes(`-${letter}`));
    const option = `-${arg.charAt(last + 1)}`;
    if (last === -1) return { option: `-${arg.charAt(1)}` };
    if (valued.includes(option)) {
      const value = arg.slice(last + 2).replace(/^=/u, '');
      return value === '' ? { option } : { option, inline: value };
    }
  }
  const [, option = arg, inline] = /^(-[^=]*)=(.*)$/su.exec(arg) ?? [];
  return inline === undefined ? { option } : { option, inline };
}

/** Returns true for a flag of the rules that is set: `--rm`, `--rm=true`. */
const isFlag = (option: string, inline: string | undefined, { flags }: OptionRules): boolean =>
  flags.includes(option) && (inline === undefined || inline === 'true');

/** Returns the values of an option with its aliases. */
export const valuesOf = ({ values }: ReadOptions, ...names: readonly string[]): string[] =>
  values.filter(([option]) => names.includes(option)).map(([, value]) => value);
