import { displayText } from './display-text.ts';

/** RFC 7591 §3.2.2 */
export type RegistrationErrorCode = 'invalid_redirect_uri' | 'invalid_client_metadata' | 'invalid_software_statement';

/** `message` is ASCII without quotes (RFC 6749 §5.2) and repeats nothing that the client sent. */
export interface MetadataProblem {
  readonly error: RegistrationErrorCode;
  readonly message: string;
}

const MAX_URL_LENGTH = 2048;
const MAX_LIST_LENGTH = 32;
const MAX_SCOPE_LENGTH = 4096;
const PRINTABLE = /^[\x20-\x7E]*$/u;

/** The members of a client's metadata, read with all that is wrong collected. `null` counts as left out. */
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

  /** `message` names the member. */
  metadataProblem(message: string): void {
    this.#problems.push({ error: 'invalid_client_metadata', message });
  }

  /** `message` names the member. */
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

  /** Cleaned for display; undefined when nothing visible is left. */
  name(name: string, maxLength: number): string | undefined {
    return displayText(this.text(name, maxLength) ?? '') || undefined;
  }

  printable(name: string, maxLength: number): string | undefined {
    const text = this.text(name, maxLength);
    if (text === undefined || PRINTABLE.test(text)) return text;
    this.problem(name, 'must be printable ASCII');
    return undefined;
  }

  /** Clients write an empty one for none. */
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

  /** A text of words divided by spaces (RFC 7591 §2), or an array of words, as some clients send it. */
  words(name: string): readonly string[] {
    if (Array.isArray(this.#members.get(name))) return this.list(name) ?? [];
    return (this.text(name, MAX_SCOPE_LENGTH) ?? '').split(' ').filter((word) => word !== '');
  }
}
