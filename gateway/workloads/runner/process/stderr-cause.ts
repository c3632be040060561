import { redactText } from '../../../telemetry/redact.ts';
import { REDACTED } from '../../../telemetry/secret-members.ts';
import { messageOfLine, NAMED_ERROR, statements, type Statement } from './stderr-statements.ts';

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
