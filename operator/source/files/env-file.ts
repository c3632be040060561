import { ENV_FILE, readText } from './find-files.ts';
import { parseEnv } from 'node:util';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileProblem, type LocatedProblem } from './located.ts';

/** Mistake in the text of a `.env` file. The message quotes nothing of the file, because it holds secrets. */
interface EnvFault {
  /** Starts at 1. */
  readonly line: number;
  readonly message: string;
}

interface EnvText {
  /** Values by variable; the last line of a variable applies. */
  readonly values: ReadonlyMap<string, string>;
  readonly faults: readonly EnvFault[];
}

const IGNORED = /^\s*(#.*)?$/u;
const ENTRY = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*(=.*)$/u;
const QUOTE = /^=\s*(["'`])/u;

/**
 * Parses `NAME=value` lines like `util.parseEnv` of Node.js: with comments, `export`, and quotes that can span lines;
 * without expansion of variables. Reports the lines that `parseEnv` would skip or cut off.
 */
export function parseEnvText(text: string): EnvText {
  const lines = text.split(/\r?\n/u);
  const values = new Map<string, string>();
  const faults: EnvFault[] = [];
  let next = 0;
  while (next < lines.length) {
    const first = next;
    const entry = readEntry(lines, first);
    next += entry.length;
    if (entry.fault !== undefined) faults.push({ line: first + 1, message: entry.fault });
    else if (entry.name !== undefined) values.set(entry.name, entry.value ?? '');
  }
  return { values, faults };
}

interface Entry {
  /** Number of lines. */
  readonly length: number;
  /** Absent for a line without a variable. */
  readonly name?: string;
  readonly value?: string;
  readonly fault?: string;
}

function readEntry(lines: readonly string[], first: number): Entry {
  const line = lines[first] ?? '';
  if (IGNORED.test(line)) return { length: 1 };
  const [, name, raw] = ENTRY.exec(line) ?? [];
  if (name === undefined || raw === undefined) {
    return { length: 1, fault: 'not a variable: write NAME=value, with a name of letters, digits and _' };
  }
  const quote = QUOTE.exec(raw)?.[1];
  const { length, source, fault } =
    quote === undefined ? plainSource(raw) : quotedSource(lines.slice(first + 1), raw, quote);
  if (source === undefined) return { length, ...(fault !== undefined && { fault }) };
  if (source.includes('\0')) return { length, fault: 'the value has a NUL byte: remove it' };
  return { length, name, value: parseEnv(`VALUE${source}`)['VALUE'] ?? '' };
}

interface Source {
  readonly length: number;
  /** The equals sign and the value as written. */
  readonly source?: string;
  readonly fault?: string;
}

const plainSource = (raw: string): Source =>
  /\S#/u.test(raw)
    ? { length: 1, fault: 'a # starts a comment: put the value in quotes, or write a space before the comment' }
    : { length: 1, source: raw };

function quotedSource(below: readonly string[], raw: string, quote: string): Source {
  const start = raw.indexOf(quote) + 1;
  const closing = raw.includes(quote, start) ? 0 : below.findIndex((line) => line.includes(quote)) + 1;
  const source = [raw, ...below.slice(0, closing)].join('\n');
  const end = source.indexOf(quote, start);
  if (end === -1) return { length: below.length + 1, fault: `the quote ${quote} is not closed: add another one` };
  const isComplete = IGNORED.test(source.slice(end + 1));
  return {
    length: closing + 1,
    ...(isComplete ? { source } : { fault: `there is text after the closing quote ${quote}: remove it` }),
  };
}

export interface EnvFile {
  readonly values: ReadonlyMap<string, string>;
  readonly problems: readonly LocatedProblem[];
  readonly warnings: readonly LocatedProblem[];
}

const READABLE_BY_OTHERS = 0o044;

/** Reads the `.env` of a folder. A missing file has no values and no problem. */
export async function readEnvFile(folder: string): Promise<EnvFile> {
  const file = join(folder, ENV_FILE);
  const mode = await modeOf(file);
  if (mode === undefined) return { values: new Map(), problems: [], warnings: [] };
  const read = await readText(file);
  if ('reason' in read) {
    return { values: new Map(), problems: [fileProblem(file, read.reason, read.message)], warnings: [] };
  }
  const { values, faults } = parseEnvText(read.text);
  const message = `other users of this machine can read it: run chmod 600 ${file}`;
  return {
    values,
    problems: faults.map((fault) => ({ ...fileProblem(file, 'InvalidEnvFile', fault.message), line: fault.line })),
    warnings: (mode & READABLE_BY_OTHERS) === 0 ? [] : [fileProblem(file, 'EnvFileExposed', message)],
  };
}

/** Returns the permissions of a file, 0 when they cannot be read, and undefined when the file does not exist. */
async function modeOf(file: string): Promise<number | undefined> {
  try {
    return (await stat(file)).mode;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? undefined : 0;
  }
}
