import { printable } from '../contract/text/printable.ts';

/** One entry of the log, already redacted. */
export interface LogEntry {
  readonly level: string;
  readonly message: unknown;
  /** Facts by name. */
  readonly [fact: string]: unknown;
}

/** Facts that name what the entry is about: the first one present stands before the sentence. */
const SUBJECTS = ['backend', 'workload', 'provider', 'server'];

/** SGR parameters of the levels (ECMA-48): the 16 colours of a terminal, which suit light and dark themes. */
const LEVEL_COLORS: Readonly<Record<string, number>> = { error: 31, warn: 33, info: 36, debug: 90 };
const BOLD = 1;
/** Width of the column of subjects, in characters; a longer name moves its sentence to the right. */
const SUBJECT_WIDTH = 12;
const DIM = 2;

const isBlock = (value: unknown): value is string => typeof value === 'string' && value.trim().includes('\n');

/** Returns a value as one word, or in quotes. */
function word(value: unknown): string {
  const text = typeof value === 'string' ? value.trim() : JSON.stringify(value);
  return /^[^\s"=]+$/u.test(text) || typeof value !== 'string' ? text : JSON.stringify(text);
}

/**
 * Renders an entry as one line for a terminal: local time, level, subject, sentence and facts. A fact of several lines,
 * such as a stack, follows below, indented.
 */
export function textLine({ level, message, ...facts }: LogEntry, time: Date, hasColor: boolean): string {
  const style = (code: number | undefined, text: string): string =>
    hasColor && code !== undefined ? `\u001b[${String(code)}m${text}\u001b[0m` : text;
  const present = Object.entries(facts).filter(([, value]) => value !== undefined && value !== '');
  const subject = SUBJECTS.find((name) => typeof facts[name] === 'string');
  // The virtual server is the same on most lines: last.
  const others = present
    .filter(([name]) => name !== subject)
    .toSorted(([a], [b]) => Number(a === 'server') - Number(b === 'server'));
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) => String(part).padStart(2, '0'));
  const parts = [
    style(DIM, clock.join(':')),
    style(LEVEL_COLORS[level], level.toUpperCase().padEnd(5)),
    style(BOLD, printable(subject === undefined ? '' : String(facts[subject])).padEnd(SUBJECT_WIDTH)),
    printable(String(message)),
    ...others
      .filter(([, value]) => !isBlock(value))
      .map(([name, value]) => `${style(DIM, `${name}=`)}${printable(word(value))}`),
  ];
  const blocks = others.flatMap(([name, value]) =>
    isBlock(value)
      ? [
          `    ${style(DIM, `${name}:`)}`,
          ...value
            .trim()
            .split('\n')
            .map((line) => `      ${printable(line)}`),
        ]
      : [],
  );
  return [parts.join('  ').trimEnd(), ...blocks].join('\n');
}
