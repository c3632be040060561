import { redactContent, redactCut } from '../telemetry/redact.ts';
import { isNamedMember, isNamingMember, isSecretHeader, isSecretName, REDACTED } from '../telemetry/secret-members.ts';
import type { Captured } from './event.ts';

/** Levels of JSON inside strings of JSON that are read. Deeper ones are replaced as a whole. */
const MAX_NESTED = 4;
/** Longest text in a list that is compared with names of options and headers. */
const MAX_OPTION = 64;
/** Open brackets. In the second form of each, the next value is a secret: an element names it. */
type Open = '{' | '[' | '{*' | '[*';

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
  readonly #open: Open[] = [];
  /** True before a key of the innermost object. */
  #isKeyNext = false;
  /** Last key of an object. */
  #key = '';
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
        this.#comma();
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

  #comma(): void {
    const open = this.#open.at(-1) ?? '';
    this.#punctuation(',', open.startsWith('{'));
    this.#isSecret = open === '[*';
    if (this.#isSecret) this.#open[this.#open.length - 1] = '[';
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
    if (this.#isKeyNext) this.#readKey(raw, isClosed);
    else if (this.#isSecret) this.#replace();
    else {
      const content = decode(isClosed ? raw : `${raw}"`);
      this.#announce(content);
      this.#write(this.#redactString(content, isClosed), isClosed);
    }
  }

  #readKey(raw: string, isClosed: boolean): void {
    this.#isKeyNext = false;
    const key = decode(isClosed ? raw : `${raw}"`);
    this.#key = key;
    this.#isSecret = isClosed && (isSecretName(key) || (this.#open.at(-1) === '{*' && isNamedMember(key)));
    const shown = isClosed ? redactContent(key) : redactCut(redactContent(key));
    if (shown === key) this.#out += raw;
    else this.#write(shown, isClosed);
  }

  #write(content: string, isClosed: boolean): void {
    const text = JSON.stringify(content);
    this.#out += isClosed ? text : text.slice(0, -1);
  }

  /** Notes a text that names the next value: `{"name":"API_KEY","value":"x"}`, `["--password","x"]`. */
  #announce(text: string): void {
    const last = this.#open.length - 1;
    if (this.#open[last] === '[') {
      if (text.length > MAX_OPTION) return;
      if (isSecretHeader(text) || (/^--?[a-z][\w-]*$/i.test(text) && isSecretName(text))) this.#open[last] = '[*';
    } else if (last >= 0 && isNamingMember(this.#key)) this.#open[last] = isSecretName(text) ? '{*' : '{';
  }

  #redactString(text: string, isClosed: boolean): string {
    const isJson = /^\s{0,64}[[{"]/.test(text);
    if (isJson && this.#nested >= MAX_NESTED) return REDACTED;
    const redacted = redactContent(isJson ? new JsonRedaction(text, this.#nested + 1).run() : text);
    return isClosed ? redacted : redactCut(redacted);
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

/** Returns valid JSON text without secrets for a line. A longer text than `maxBytes` is cut and becomes a string. */
export function capture(json: Buffer, maxBytes: number): Captured {
  if (json.length <= maxBytes) return { json: redactJson(json.toString('utf8')), truncated: false };
  return {
    json: JSON.stringify(redactJson(json.toString('utf8', 0, characterStart(json, maxBytes)))),
    truncated: true,
  };
}

/** Returns the start of the UTF-8 character that contains the byte at `at`. */
function characterStart(text: Buffer, at: number): number {
  let start = at;
  while (start > 0 && ((text[start] ?? 0) & 0xc0) === 0x80) start -= 1;
  return start;
}
