import { displayText } from '../../../http/page/markup.ts';
import { isObject } from '../../../contract/json.ts';
import { jsonExcess } from '../../../http/endpoint/body-text.ts';

/** Metadata has two levels, a key set four. */
const MAX_DEPTH = 16;

/**
 * Parses a JSON object into a map, where `__proto__` is an ordinary name. Returns undefined for any other text, and for too many
 * members or values.
 */
export function parseJsonObject(text: string): ReadonlyMap<string, unknown> | undefined {
  if (jsonExcess(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value) || tooDeep(value)) return undefined;
    return new Map(Object.entries(value));
  } catch {
    return undefined;
  }
}

/** Checks level by level, since recursion on untrusted input could exhaust the stack. */
function tooDeep(root: object): boolean {
  let level: readonly unknown[] = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap((value): unknown[] =>
      typeof value === 'object' && value !== null ? Object.values(value) : [],
    );
  }
  return false;
}

/** Error codes of a registration (RFC 7591 §3.2.2). */
export type RegistrationErrorCode = 'invalid_redirect_uri' | 'invalid_client_metadata' | 'invalid_software_statement';

/** Problem with a member. `message` is ASCII without quotes (RFC 6749 §5.2) and repeats nothing from the client. */
export interface MetadataProblem {
  readonly error: RegistrationErrorCode;
  readonly message: string;
}

const MAX_URL_LENGTH = 2048;
const MAX_LIST_LENGTH = 32;
const MAX_SCOPE_LENGTH = 4096;
const PRINTABLE = /^[\x20-\x7E]*$/u;

/** Reader of a client's metadata that collects all problems. `null` is treated as absent. */
export class MetadataMembers {
  readonly #members: ReadonlyMap<string, unknown>;
  readonly #problems: MetadataProblem[] = [];

  constructor(members: ReadonlyMap<string, unknown>) {
    this.#members = members;
  }

  get problems(): readonly MetadataProblem[] {
    return this.#problems;
  }

  problem(name: string, message: string, error: RegistrationErrorCode = 'invalid_client_metadata'): void {
    this.#problems.push({ error, message: `${name} ${message}` });
  }

  /** Adds a problem. `message` names the member. */
  metadataProblem(message: string): void {
    this.#problems.push({ error: 'invalid_client_metadata', message });
  }

  /** Adds a problem with a redirect URI. `message` names the member. */
  redirectProblem(message: string): void {
    this.#problems.push({ error: 'invalid_redirect_uri', message });
  }

  text(name: string, maxLength: number): string | undefined {
    const value = this.#members.get(name) ?? undefined;
    if (value === undefined) return undefined;
    if (typeof value === 'string' && value.length <= maxLength) return value;
    this.problem(name, `must be a string of at most ${String(maxLength)} characters`);
    return undefined;
  }

  /** Reads a name for display; undefined when no visible characters are left. */
  name(name: string, maxLength: number): string | undefined {
    return displayText(this.text(name, maxLength) ?? '') || undefined;
  }

  printable(name: string, maxLength: number): string | undefined {
    const text = this.text(name, maxLength);
    if (text === undefined || PRINTABLE.test(text)) return text;
    this.problem(name, 'must be printable ASCII');
    return undefined;
  }

  /** Reads an https URL. Some clients send an empty string for none. */
  httpsUrl(name: string): string | undefined {
    const text = this.text(name, MAX_URL_LENGTH);
    if (text === undefined || text === '') return undefined;
    if (PRINTABLE.test(text) && URL.parse(text)?.protocol === 'https:') return text;
    this.problem(name, 'must be an https URL');
    return undefined;
  }

  oneOf<const Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined {
    const text = this.text(name, 64);
    const found = choices.find((choice) => choice === text);
    if (text !== undefined && found === undefined) this.problem(name, `must be ${choices.join(' or ')}`);
    return found;
  }

  list(name: string, error: RegistrationErrorCode = 'invalid_client_metadata'): readonly string[] | undefined {
    const value = this.#members.get(name) ?? undefined;
    if (value === undefined) return undefined;
    if (Array.isArray(value) && value.length <= MAX_LIST_LENGTH) {
      const texts: readonly string[] = value.filter((one) => typeof one === 'string');
      if (texts.length === value.length) return texts;
    }
    this.problem(name, `must be an array of at most ${String(MAX_LIST_LENGTH)} strings`, error);
    return undefined;
  }

  /** Reads words separated by spaces (RFC 7591 §2), or an array of words, which some clients send. */
  words(name: string): readonly string[] {
    if (Array.isArray(this.#members.get(name))) return this.list(name) ?? [];
    return (this.text(name, MAX_SCOPE_LENGTH) ?? '').split(' ').filter((word) => word !== '');
  }
}
