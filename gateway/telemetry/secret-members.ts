/** Names of members, parameters, headers and options whose values are secrets, in any spelling: `apiKey`, `X-Api-Key`, `API_KEY`. */
const SECRET_NAME =
  /authorization|cookie|token|secret|passw|passphrase|passcode|(?:^|[^a-z])(?:pass|pwd|auth|jwt|pat|pin|otp|sig|tsid)$|(?:api|private|access|signing|encryption|ssh|auth|account|master|shared|subscription|service|license|app|client|consumer|deploy|storage)[-_. ]?key|credential|assertion|verifier|csrf|xsrf|signature|bearer|connection[-_. ]?string|(?:^|[^a-z])dsn$/i;
/** Every secret name contains one of these, and so does an escaped one. */
const PART =
  /auth|cookie|token|secret|pass|pwd|jwt|pat|pin|otp|sig|key|credential|assertion|verifier|csrf|xsrf|bearer|connection|dsn|tsid|code|state|nonce|\\u00|%[2-7]/i;
/** Last words of names in camel case that are secret: `dbPass`. */
const CAMEL_CASE = /[a-z\d](?:Pass|Pwd|Auth|Jwt|Pat|Pin|Otp|Sig)$/;
/** Names of parameters that are secret in a query, a form or JSON inside a text. As names of arguments they are harmless. */
const PARAMETER = /^(?:code|state)$|nonce/i;
/** Headers with secrets, whose values are lines. */
const HEADER =
  /^(?:(?:proxy-)?authorization|(?:set-)?cookie2?|(?:x-)?api-key|x-[\w-]*(?:auth|key|token|secret|signature))$/i;
/** Members that name the value of a sibling: `{"name":"DB_PASSWORD","value":"x"}`. */
const NAMING = /^(?:name|key|header)$/i;
const NAMED = /^values?$/i;

export const REDACTED = '[redacted]';
/** Longest name that is compared. */
const MAX_NAME = 256;

/** Returns true for the name of a member whose value is a secret. A name too long to compare counts as one. */
export const isSecretName = (name: string): boolean =>
  name.length > MAX_NAME || SECRET_NAME.test(name) || CAMEL_CASE.test(name);

/** Returns false for a text that contains no secret name: most texts need no further look. */
export const mayHaveSecretName = (text: string): boolean => PART.test(text);

/** Returns true for the name of a parameter of a query or form whose value is a secret. */
export const isSecretParameter = (name: string): boolean => isSecretName(name) || PARAMETER.test(name);

/** Returns true for a header whose value is a secret. */
export const isSecretHeader = (name: string): boolean => HEADER.test(name);

/** Returns true for a member whose value names that of its sibling, and for this sibling. */
export const isNamingMember = (name: string): boolean => NAMING.test(name);
export const isNamedMember = (name: string): boolean => NAMED.test(name);

/** A name in front of `:` or `=`. */
interface Name {
  readonly text: string;
  /** Offset of the first character. */
  readonly start: number;
  readonly isQuoted: boolean;
  /** Backslashes in front of each quote around it: JSON inside strings of JSON has 1, 3, 7 and so on. */
  readonly escapes: number;
}

const SEPARATOR = /[:=]/g;
const NAME_CHARACTER = /[\w.%[\]-]/;
const WORD = /[\s"'\\]*([\w.-]{1,64})/y;
/** Names whose last word alone stands in front of the separator: `API key: x`. */
const TWO_WORDS = /\b(?:api|private|access|secret|signing|encryption|ssh|account|license) key$|connection string$/i;
const MAX_FIRST_WORD = 16;

/**
 * Replaces the values of secret names in a text that is not JSON as a whole: a query or form, JSON after other text,
 * also escaped, `name=value`, and `name: value`, where the value is the rest of the line and the lines that are indented below
 * it. With `isSentence` only headers have such lines, and other values of the last form are words with a digit or in quotes. Takes linear time, because each separator reads only what is between it and
 * its neighbours.
 */
export function redactMembers(text: string, isSentence: boolean): string {
  let out = '';
  let from = 0;
  let isNamed = false;
  SEPARATOR.lastIndex = 0;
  for (let found = SEPARATOR.exec(text); found; found = SEPARATOR.exec(text)) {
    const at = found.index;
    const name = nameBefore(text, at, from);
    if (!name) continue;
    const isSecret = (isNamed && isNamedMember(name.text)) || isSecretAt(text, name, at);
    if (isNamingMember(name.text)) isNamed = isSecretName(wordAfter(text, at));
    if (!isSecret) continue;
    const isWord = isSentence && !isSecretHeader(name.text);
    const value = valueAfter(text, at, name, isWord ? endOfWord : endOfLines);
    if (value.start === value.end) continue;
    out += text.slice(from, value.start) + REDACTED;
    from = value.end;
    SEPARATOR.lastIndex = from;
  }
  return from === 0 ? text : out + text.slice(from);
}

function isSecretAt(text: string, { text: name, start, isQuoted }: Name, at: number): boolean {
  if (SECRET_NAME.test(name) || CAMEL_CASE.test(name)) return true;
  const before = text[start - 1];
  if (isQuoted || text[at] === '=')
    return PARAMETER.test(name) || (name === 'key' && (before === '?' || before === '&'));
  return before === ' ' && TWO_WORDS.test(text.slice(Math.max(0, start - MAX_FIRST_WORD), at));
}

/** Returns the word behind a separator, in quotes or not; '' for another value. */
function wordAfter(text: string, at: number): string {
  WORD.lastIndex = at + 1;
  return WORD.exec(text)?.[1] ?? '';
}

/** Returns the name in front of the separator at `at`, not before `floor`; undefined when there is none. */
function nameBefore(text: string, at: number, floor: number): Name | undefined {
  let end = at;
  while (end > floor && isSpace(text[end - 1])) end -= 1;
  const quote = text[end - 1];
  if (quote === '"' || quote === "'") {
    let close = end - 1;
    while (close > floor && text[close - 1] === '\\') close -= 1;
    const open = text.lastIndexOf(quote, close - 1);
    if (open < floor || open >= close) return undefined;
    const start = Math.max(open + 1, close - MAX_NAME);
    return { text: decoded(text.slice(start, close)), start, isQuoted: true, escapes: end - 1 - close };
  }
  let start = end;
  const least = Math.max(floor, end - MAX_NAME);
  while (start > least && NAME_CHARACTER.test(text[start - 1] ?? '')) start -= 1;
  if (start === end || text.startsWith('://', at)) return undefined; // a scheme is no name
  return { text: decoded(text.slice(start, end)), start, isQuoted: false, escapes: 0 };
}

const isSpace = (character: string | undefined): boolean =>
  character === ' ' || character === '\t' || character === '\n' || character === '\r';

/** Returns a name without the escapes of JSON and of URLs. */
function decoded(name: string): string {
  if (!name.includes('\\') && !name.includes('%')) return name;
  const text = name.replaceAll('\\u00', '%').replaceAll('\\', '');
  return text.replace(/%([\da-f]{2})/gi, (_match, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Returns the end of the value at `start` of a name that starts at `nameStart`. */
type EndOfBare = (text: string, start: number, nameStart: number) => number;

/**
 * Returns the value behind the separator at `at`: the content of a string, an object or list, or a bare text. `endOfBare` ends the
 * one of `name: value`.
 */
function valueAfter(text: string, at: number, name: Name, endOfBare: EndOfBare): Span {
  let start = at + 1;
  while (text[start] === '=' || text[start] === '>' || text[start] === ':') start += 1; // `:=`, `=>`, `==`
  while (text[start] === ' ' || text[start] === '\t' || (name.isQuoted && isSpace(text[start]))) start += 1;
  let open = start;
  while (text[open] === '\\') open += 1;
  const quote = text[open];
  if (quote === '"' || quote === "'") {
    return { start: open + 1, end: endOfQuoted(text, open + 1, quote, open - start) };
  }
  if (text.startsWith(REDACTED, start)) return { start, end: start + REDACTED.length };
  const isNested = text[at] === ':' && (text[start] === '{' || text[start] === '[');
  const nested = isNested ? endOfBrackets(text, start, name.escapes) : start;
  if (!name.isQuoted && text[at] === ':') return { start, end: Math.max(nested, endOfBare(text, start, name.start)) };
  if (isNested) return { start, end: nested };
  return { start, end: endOf(name.isQuoted ? SCALAR : PARAMETER_VALUE, text, start) };
}

const SCALAR = /[^,\]}\s]*/y;
const PARAMETER_VALUE = /[^&;\s"'<>]*/y;

/** Returns the end of the match of a sticky pattern at `start`. */
function endOf(pattern: RegExp, text: string, start: number): number {
  pattern.lastIndex = start;
  return pattern.test(text) ? pattern.lastIndex : start;
}

/** Returns true for a quote behind `run` backslashes that opens or ends a string whose quotes have `escapes` of them. */
const isDelimiter = (run: number, escapes: number): boolean => run % (2 * (escapes + 1)) === escapes;

/** Returns the end of the content of a string that starts at `start`; the end of the text for an open one. */
function endOfQuoted(text: string, start: number, quote: string, escapes: number): number {
  for (let at = text.indexOf(quote, start); at !== -1; at = text.indexOf(quote, at + 1)) {
    let run = at;
    while (run > start && text[run - 1] === '\\') run -= 1;
    if (isDelimiter(at - run, escapes)) return at - escapes;
  }
  return text.length;
}

/** Returns the end of the object or list at `start`; the end of the text for an open one. */
function endOfBrackets(text: string, start: number, escapes: number): number {
  let depth = 0;
  let run = 0;
  let isString = false;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"' && isDelimiter(run, escapes)) isString = !isString;
    else if (!isString && (character === '{' || character === '[')) depth += 1;
    else if (!isString && (character === '}' || character === ']') && (depth -= 1) === 0) return at + 1;
    run = character === '\\' ? run + 1 : 0;
  }
  return text.length;
}

/** Word with a digit: the words of a sentence have none. */
const WORD_WITH_DIGIT = /[^\s\d,;"']*\d[^\s,;"']*/y;
const REST_OF_LINE = /[^\r\n]*/y;
/** Value of YAML that follows on the next lines. */
const IS_BLOCK = /^(?:[|>][-+\d]*)?\s*$/;
const NEXT_LINE = /\r?\n([ \t]*)(-?)[^\r\n]*/y;

const endOfWord: EndOfBare = (text, start) => endOf(WORD_WITH_DIGIT, text, start);

/** Returns the end of the line, or of the lines below that are indented deeper than that of the name. */
function endOfLines(text: string, start: number, nameStart: number): number {
  let end = endOf(REST_OF_LINE, text, start);
  if (!IS_BLOCK.test(text.slice(start, end))) return end;
  const line = text.lastIndexOf('\n', nameStart) + 1;
  const indent = (/^[ \t]*/.exec(text.slice(line, nameStart))?.[0] ?? '').length;
  for (;;) {
    NEXT_LINE.lastIndex = end;
    const [, blanks = '', dash = ''] = NEXT_LINE.exec(text) ?? [];
    const isInside =
      NEXT_LINE.lastIndex > end && (blanks.length > indent || (blanks.length === indent && dash === '-'));
    if (!isInside) return end;
    end = NEXT_LINE.lastIndex;
  }
}
