/** Fragment of a page. Only `markup` creates one, so that all other text is escaped. */
export class Html {
  readonly #text: string;
  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

export type HtmlValue = string | Html | readonly Html[] | undefined;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
};

/** Escapes text for elements and for quoted attribute values. */
export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"'`]/gu, (character) => ENTITIES[character] ?? '');

/** Template tag: escapes strings, keeps fragments and skips undefined. Write attributes in double quotes. */
export function markup(texts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(texts.map((text, index) => text + render(values[index])).join(''));
}

function render(value: HtmlValue): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return escapeHtml(value);
  return value instanceof Html ? value.toString() : value.map(String).join('');
}
