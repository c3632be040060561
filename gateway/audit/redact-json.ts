import { redactText } from '../telemetry/redact.ts';

const SECRET_NAME =
  /authorization|cookie|token|secret|passw|passphrase|^pwd$|api[-_. ]?key|private[-_. ]?key|access[-_. ]?key|credential|assertion|verifier|csrf|^pin$|^otp$|^tsid$/i;
const REDACTED = '[redacted]';
/** Longest name that is compared; a longer one counts as secret. */
const MAX_NAME = 256;
/** Levels of JSON inside strings of JSON that are read. Deeper ones are replaced as a whole. */
const MAX_NESTED = 4;
/** Start of a secret at the end of a text that was cut, too short for its shape. */
const CUT_SECRET = /(?:\b(?:bearer|basic)\s{1,8}[^\s"]{0,8}|\beyJ[\w.-]{0,8}|\bv(?:ac|rt|ck|cs|ra)_[\w.-]{0,16})$/i;
const QUERY_VALUE = /([?&;]([^=&;\s"'<>]{1,64})=)[^&;\s"'<>]+/g;

export const isSecretName = (name: string): boolean => name.length > MAX_NAME || SECRET_NAME.test(name);

/** Replaces secrets in a text: those with a known shape, and values of secret names in a query. */
export const redactPlain = (text: string): string =>
  redactText(
    text.replace(QUERY_VALUE, (match, start: string, name: string) =>
      isSecretName(name) ? `${start}${REDACTED}` : match,
    ),
  );

/**
 * Returns a JSON text without the values of secret names and without secrets in its strings, on one line. The text may be
 * cut anywhere: a value that is open at the end stays open.
 */
export const redactJson = (text: string): string => new JsonRedaction(text, 0).run();

class JsonRedaction {
  readonly #text: string;
  readonly #nested: number;
  #at = 0;
  #out = '';
  /** Open brackets. */
  readonly #open: string[] = [];
  /** True before a key of the innermost object. */
  #isKeyNext = false;
  /** True before the value of a secret name. */
  #isSecret = false;

  /** `nested` counts the strings around the text. White space inside a string stays. */
  constructor(text: string, nested: number) {
    this.#text = text;
    this.#nested = nested;
  }

  run(): string {
    while (this.#at < this.#text.length) this.#step(this.#text.charAt(this.#at));
    return this.#out;
  }

  #step(character: string): void {
    switch (character) {
      case ' ':
      case '\n':
      case '\r':
      case '\t':
        if (this.#nested > 0) this.#out += character;
        this.#at += 1;
        return;
      case '"':
        this.#string();
        return;
      case '{':
      case '[':
        this.#bracket(character);
        return;
      case '}':
      case ']':
        this.#open.pop();
        this.#punctuation(character, false);
        return;
      case ',':
        this.#punctuation(character, this.#open.at(-1) === '{');
        this.#isSecret = false;
        return;
      case ':':
        this.#punctuation(character, false);
        return;
      default:
        this.#scalar();
    }
  }

  #punctuation(character: string, isKeyNext: boolean): void {
    this.#out += character;
    this.#at += 1;
    this.#isKeyNext = isKeyNext;
  }

  #bracket(character: '{' | '['): void {
    if (this.#isSecret) {
      this.#skipNested();
      this.#replace();
      return;
    }
    this.#open.push(character);
    this.#punctuation(character, character === '{');
  }

  /** Moves behind the value whose bracket is next, or to the end of the text. */
  #skipNested(): void {
    let depth = 0;
    do {
      const character = this.#text.charAt(this.#at);
      if (character === '"') {
        this.#at = endOfString(this.#text, this.#at).end;
        continue;
      }
      if (character === '{' || character === '[') depth += 1;
      else if (character === '}' || character === ']') depth -= 1;
      this.#at += 1;
    } while (depth > 0 && this.#at < this.#text.length);
  }

  #replace(): void {
    this.#out += `"${REDACTED}"`;
    this.#isSecret = false;
  }

  #scalar(): void {
    const start = this.#at;
    while (this.#at < this.#text.length && !' \n\r\t",:{}[]'.includes(this.#text.charAt(this.#at))) this.#at += 1;
    if (this.#isSecret) this.#replace();
    else this.#out += this.#text.slice(start, this.#at);
  }

  #string(): void {
    const { end, whole, isClosed } = endOfString(this.#text, this.#at);
    const raw = this.#text.slice(this.#at, whole);
    this.#at = end;
    if (this.#isKeyNext) {
      this.#isKeyNext = false;
      this.#isSecret = isClosed && isSecretName(decode(raw));
      this.#out += raw;
    } else if (this.#isSecret) this.#replace();
    else {
      const text = JSON.stringify(this.#redactString(decode(isClosed ? raw : `${raw}"`), isClosed));
      this.#out += isClosed ? text : text.slice(0, -1);
    }
  }

  #redactString(text: string, isClosed: boolean): string {
    const isJson = /^\s{0,64}[[{"]/.test(text);
    if (isJson && this.#nested >= MAX_NESTED) return REDACTED;
    const read = isJson ? new JsonRedaction(text, this.#nested + 1).run() : text;
    const redacted = redactPlain(read);
    return isClosed ? redacted : redacted.replace(CUT_SECRET, REDACTED);
  }
}

/**
 * Finds the end of the string that starts at `at`: the offset behind its quote, or that of the end of the text. `whole` is the
 * offset behind its last complete character.
 */
function endOfString(text: string, at: number): { end: number; whole: number; isClosed: boolean } {
  let pos = at + 1;
  while (pos < text.length) {
    const character = text.charAt(pos);
    if (character === '"') return { end: pos + 1, whole: pos + 1, isClosed: true };
    const length = character !== '\\' ? 1 : text.charAt(pos + 1) === 'u' ? 6 : 2;
    if (pos + length > text.length) return { end: text.length, whole: pos, isClosed: false };
    pos += length;
  }
  return { end: text.length, whole: text.length, isClosed: false };
}

/** Returns the text of a JSON string; what is not JSON is returned as it stands. */
function decode(raw: string): string {
  try {
    return JSON.parse(raw) as string;
  } catch {
    return raw;
  }
}
