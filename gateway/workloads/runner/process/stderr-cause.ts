import { redactText } from '../../../telemetry/redact.ts';
import { REDACTED } from '../../../telemetry/secret-members.ts';
import { stripVTControlCharacters } from 'node:util';
import { isObject } from '../../../contract/json.ts';

/** Most lines of a JSON document in the output. */
const MOST_JSON_LINES = 60;
/** Most lines that are added to a line with a colon at its end. */
const MOST_ITEMS = 3;

/** Lines that never name a cause: frames and excerpts of the source, versions, notices of npm and of warnings. */
const NOISE = [
  /^\s*at\s|^\s*\.\.\. \d+ (?:more|lines matching)/u,
  /^\s*File "/u,
  /^\s*(?:raise|throw|return|import|from|await|const|let|var|if|with)\s/u,
  /^Node\.js v\d/u,
  /^node:internal\//u,
  /^\S*:\d+$/u,
  /Traceback \(most recent call last\):$/u,
  /^npm (?:notice|warn)/iu,
  /^\[dotenv@|^note: run with `RUST_BACKTRACE/u,
  /^\s+--?\w\S*(?: \S+)* {2,}\S/u, // an option in a help text
  /^npm error (?:code|errno|path|command|A complete log)/u,
  /^\(node:\d+\)|^\(Use `node/u,
  /^\s*For further information visit/u,
  /Warning:\s|^\s*warnings\.warn/u,
];

/** Line of Python between an exception and its consequence. */
const LED_TO = /^(?:During handling of the above|The above) exception/u;
/** Start of a line in a group of exceptions of Python. */
const IN_GROUP = /^\s+\|(?: |$)/u;
const MARK = /^[\s^~]+$/u;
const HAS_WORD = /[\p{L}\d]{2}/u;
/** Characters of the frame of a banner around a text. */
const FRAME = /[│|║┃]/gu;

const NAMED_ERROR = /^(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception)(?: \[\w+\])?:\s+\S/u;
/** Line below an error that names its cause: that of Node.js, of Java, of .NET, and of Rust, where the causes follow in lines of their own. */
const INNER_CAUSE = /^\s*(?:\[cause\]:|caused by:|--->)/iu;
/** Causes that say nothing: a class without a message, a value that is no error. */
const EMPTY_CAUSE = /^(?:['"]?[\w.$]*['"]?[:,]?|\{.*)$/u;
/** Error that Node.js prints with its properties and without a stack. */
const IN_BRACKETS = /^\[(\w*Error\b[^\]]*)\](?:\s*\{)?$/u;

const isNoise = (line: string): boolean => NOISE.some((pattern) => pattern.test(line));

/** A text of the output that may name the cause. */
interface Statement {
  readonly text: string;
  /** True for the cause that stands below an error. */
  readonly isInnerCause: boolean;
  /** True for an entry of a log in JSON whose level is below a warning. */
  readonly isInformation: boolean;
  /** True for an exception of Python that is the consequence of another. */
  readonly explains: boolean;
}

/** Part of the output that a statement replaces; `end` is its last line. */
interface Part {
  readonly text: string;
  readonly end: number;
  readonly isInformation?: boolean;
}

/** Returns the lines with words, in order. A JSON document, a list of faults of a validator and a cause become a line each. */
function statements(lines: readonly string[]): Statement[] {
  const found: Statement[] = [];
  const plain = lines.map((line) => stripVTControlCharacters(line).replace(IN_GROUP, ''));
  let isLedTo = false;
  for (let at = 0; at < plain.length; at += 1) {
    const line = plain[at] ?? '';
    if (MARK.test(plain[at + 1] ?? '')) continue; // an excerpt of the source, above its mark
    if (isNoise(line) || !HAS_WORD.test(line)) continue;
    isLedTo ||= LED_TO.test(line);
    if (LED_TO.test(line)) continue;
    const inner = innerCauseAt(plain, at);
    const part = inner ?? documentAt(plain, at) ?? faultsAt(plain, at) ?? listAt(plain, at);
    at = part?.end ?? at;
    const raw = (part?.text ?? line).replace(FRAME, ' ').replace(/\s+/gu, ' ').trim();
    const text = raw.replace(IN_BRACKETS, '$1');
    const explains = isLedTo && NAMED_ERROR.test(text);
    found.push({ text, isInnerCause: inner !== undefined, isInformation: part?.isInformation === true, explains });
    if (explains) isLedTo = false;
  }
  return found;
}

/** Reads the cause below an error: `[cause]: TEXT`, `Caused by: TEXT`, or the last of the indented lines after `Caused by:`. */
function innerCauseAt(lines: readonly string[], at: number): Part | undefined {
  const line = lines[at] ?? '';
  const [start] = INNER_CAUSE.exec(line) ?? [];
  if (start === undefined) return undefined;
  const text = line.slice(start.length).trim();
  if (text !== '') return EMPTY_CAUSE.test(text) ? undefined : { text: text.replace(/\{$/u, ''), end: at };
  let end = at;
  while (/^\s+\S/u.test(lines[end + 1] ?? '')) end += 1;
  return end === at ? undefined : { text: (lines[end] ?? '').replace(/^\s*\d+:\s/u, ''), end };
}

/** Error whose message is in the next line. */
const PANIC = /^thread '[^']*' panicked at /u;
/** Error that ends with a colon: the items of its list follow, indented or with a bullet. */
const LIST = /(?:required|missing|error|failed|invalid|not set)\b/iu;
const ITEM = /^(?:\s+(?:[-*•]\s+)?|[-*•]\s+)(\S.{0,59})$/u;

/** Reads an error that ends with a colon, and the lines that belong to it. */
function listAt(lines: readonly string[], at: number): Part | undefined {
  const line = (lines[at] ?? '').trimEnd();
  if (!line.endsWith(':')) return undefined;
  if (PANIC.test(line)) return { text: `${line} ${lines[at + 1] ?? ''}`, end: at + 1 };
  if (!LIST.test(line)) return undefined;
  const rest = lines.slice(at + 1, at + 1 + MOST_ITEMS);
  const items = rest.map((text) => (isNoise(text) ? undefined : ITEM.exec(text)?.[1]?.trim()));
  const length = items.includes(undefined) ? items.indexOf(undefined) : items.length;
  if (length === 0) return undefined;
  return { text: `${line} ${items.slice(0, length).join(', ')}`, end: at + length };
}

/** Reads a JSON document that begins at the end of a line, or that the line is. */
function documentAt(lines: readonly string[], at: number): Part | undefined {
  const [, before = '', open] = /^([^[{]*)([[{].*)$/u.exec(lines[at] ?? '') ?? [];
  if (open === undefined || !(/^[[{]\s*$/u.test(open) || /[\]}]\s*$/u.test(open))) return undefined;
  let text = open;
  for (let end = at; end < lines.length && end - at < MOST_JSON_LINES; end += 1) {
    if (end > at) text += `\n${lines[end] ?? ''}`;
    if (!/[\]}]\s*$/u.test(text)) continue;
    const value = parsed(text) ?? parsed(jsonOf(text));
    if (value === undefined) continue; // the document goes on
    const message = messageIn(value);
    return message === undefined ? undefined : { text: before + message, end, isInformation: isInformation(value) };
  }
  return undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Returns an object that Node.js prints, `{ path: [ 'API_URL' ] }`, as JSON. */
const jsonOf = (text: string): string => text.replaceAll(/\b(\w+): /gu, '"$1": ').replaceAll("'", '"');

/** Returns true for a level below a warning: those of pino and bunyan are numbers. */
function isInformation(value: unknown): boolean {
  const level = isObject(value) ? value['level'] : undefined;
  return typeof level === 'number' ? level <= 30 : typeof level === 'string' && /^(?:info|debug|trace)$/iu.test(level);
}

/** Returns the message of a line that is an entry of a log in JSON. */
const messageOfLine = (line: string): string | undefined => documentAt([line], 0)?.text;

/** Returns the message of a line of a JSON log, or of the first issue of a validator. */
function messageIn(value: unknown): string | undefined {
  const issue: unknown = Array.isArray(value) ? value[0] : value;
  if (!isObject(issue)) return undefined;
  const { message, msg, error, err, path } = issue;
  const where = Array.isArray(path) && path.length > 0 ? `${path.join('.')}: ` : '';
  const texts = [message, msg, error, err].flatMap((text) =>
    typeof text === 'string' && text !== '' ? where + text : ((isObject(text) ? messageIn(text) : undefined) ?? []),
  );
  return texts.length === 0 ? undefined : [...new Set(texts)].join(': ');
}

/** Returns the first fault of a validation in Python, which is spread over three lines. */
function faultsAt(lines: readonly string[], at: number): Part | undefined {
  const line = lines[at] ?? '';
  const [field, fault] = [lines[at + 1]?.trim(), lines[at + 2]];
  if (!/\bvalidation errors? for \S+$/u.test(line) || !field || fault?.startsWith('  ') !== true) return undefined;
  return { text: `${line}: ${field}: ${fault.replace(/\[type=.*$/u, '').trim()}`, end: at + 2 };
}

/** Lines that are kept of the start and of the end of the output. */
const KEPT = { first: 40, last: 80 };
const LONGEST_LINE = 500;
const LONGEST_CAUSE = 300;
/** Length of the shortest secret that is hidden: shorter secrets would hide words. */
const SHORTEST_SECRET = 6;

/** Name of an environment variable. */
const VARIABLE = /\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/u;
const NEED =
  /\b(?:requires?|required|missing|not set|unset|must|please|provided?|needs?|needed|undefined|no|not found|not configured|not defined|cannot be empty|expected|set(?!-))\b/iu;
const SUBJECT =
  /\b(?:api[ _-]?keys?|keys?|tokens?|passwords?|credentials?|secrets?|auth\w*|arguments?|urls?|uri|director(?:y|ies)|folders?|paths?|files?|\w*config\w*|environment|variables?|options?|flags?|modules?|packages?|database|connection string)\b/iu;
const FAILURE =
  /error|exception|fatal|panic|failed|failure|cannot|can't|could not|couldn't|unable|invalid|refused|denied|unauthorized|not supported|not found/iu;
const USAGE = /^\s*usage\b/iu;
/** Line below a usage that says what is wrong. */
const WRONG_USAGE = /^(?:[\w./-]+: )?(?:error|fatal): |^(?:missing|unknown|unrecognized|invalid|not enough) /iu;
/** Level of a line of a log. */
const INFORMATION =
  /(?:^|[\s[(|])(?:INFO|DEBUG|TRACE)(?=[\s\]):|])|\[(?:info|debug)\]|\blevel=(?:info|debug)\b|^\d\S* (?:\d\S* )?(?:info|debug):/u;

/** Chooses the line of the error output of a process that names the cause of its end. */
export interface StderrCause {
  line(text: string): void;
  /**
   * Returns the line without the values of the secrets; undefined where no line has words. A process that did not fail by itself has a
   * cause only if a line says so clearly.
   */
  cause(hasFailed?: boolean): string | undefined;
}

/** `secrets` are values that the process got and that must not be shown. */
export function stderrCause(secrets: readonly string[]): StderrCause {
  const first: string[] = [];
  const last: string[] = [];
  return {
    line(text) {
      const line = shortened(text);
      if (first.length < KEPT.first) first.push(line);
      else if (last.push(line) > KEPT.last) last.shift();
    },
    cause(hasFailed = true) {
      const chosen = causeIn([...first, ...last], hasFailed ? -Infinity : SCORES.failure);
      return chosen === undefined ? undefined : withoutSecrets(chosen, secrets);
    },
  };
}

/** Returns a line without its end if it is long. Of a long log entry in JSON only the message stays. */
function shortened(text: string): string {
  if (text.length <= LONGEST_LINE) return text;
  return (messageOfLine(text) ?? text).slice(0, LONGEST_LINE);
}

/** Ratings of statements by what they name. */
const SCORES = {
  variable: 100,
  subject: 90,
  innerCause: 85,
  namedError: 80,
  failure: 70,
  information: 65,
  usage: 60,
  other: 10,
  help: -50,
};

/** Ratings of which the last statement decides: the innermost cause, and the last text. */
const LAST_DECIDES: ReadonlySet<number> = new Set([SCORES.innerCause, SCORES.other]);

/**
 * Returns the line that names the cause: the first of those that name it equally well, else the last one. Undefined when none
 * has the rating `least`.
 */
export function causeIn(lines: readonly string[], least = -Infinity): string | undefined {
  let best: { readonly text: string; readonly score: number } | undefined;
  let isHelp = false;
  for (const statement of statements(lines)) {
    const score: number = isHelp && !WRONG_USAGE.test(statement.text) ? SCORES.help : scoreOf(statement);
    isHelp ||= score === SCORES.usage;
    const decides = LAST_DECIDES.has(score) || statement.explains;
    const isBetter = !best || score > best.score || (score === best.score && decides);
    if (isBetter) best = { text: statement.text, score };
  }
  return best && best.score >= least ? best.text : undefined;
}

/** Rates a statement: what the user must set comes before errors in general, and these before other text. */
function scoreOf({ text, isInnerCause, isInformation }: Statement): number {
  if (USAGE.test(text)) return SCORES.usage;
  const needs = NEED.test(text);
  if (needs && (isInformation || INFORMATION.test(text))) return SCORES.information;
  if (needs && VARIABLE.test(text)) return SCORES.variable;
  if (needs && SUBJECT.test(text)) return SCORES.subject;
  if (isInnerCause) return SCORES.innerCause;
  if (NAMED_ERROR.test(text)) return SCORES.namedError;
  return FAILURE.test(text) ? SCORES.failure : SCORES.other;
}

/** Words in the place of a secret: names of variables, placeholders, and words of a sentence. */
const WORD = /^(?:\$\{?\w+\}?|<[^<>]*>|[a-z]{1,12}|[A-Z]+(?:_[A-Z]+)+)$/u;

/** Returns the redacted text with the words that stood in the place of a secret: `the --access-token flag`. */
function withWords(text: string, redacted: string): string {
  const [first = '', ...rest] = redacted.split(REDACTED);
  let out = first;
  let at = first.length;
  for (const [index, part] of rest.entries()) {
    const next = part === '' && index === rest.length - 1 ? text.length : text.indexOf(part, at);
    if (next < at || (part === '' && index < rest.length - 1)) return redacted;
    const value = text.slice(at, next);
    out += (WORD.test(value) ? value : REDACTED) + part;
    at = next + part.length;
  }
  return out;
}

function withoutSecrets(text: string, secrets: readonly string[]): string {
  let rest = text;
  for (const secret of secrets) if (secret.length >= SHORTEST_SECRET) rest = rest.replaceAll(secret, '***');
  const shown = withWords(rest, redactText(rest));
  return shown.length > LONGEST_CAUSE ? `${shown.slice(0, LONGEST_CAUSE)}…` : shown;
}
