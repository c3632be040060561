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
/**
 * Characters that are invisible or reorder text: controls, formats (bidi, zero width, tags), line separators, lone
 * surrogates, private and unassigned characters, and blank letters.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]|[\u{115F}\u{1160}\u{2800}\u{3164}\u{FFA0}]/gu;
/** Marks without a glyph. */
const INVISIBLE_MARKS = /\u{34F}|\u{17B4}|\u{17B5}/gu;
/** More marks on one letter than any language uses: they would overlap the neighbouring lines. */
const PILED_MARKS = /(\p{M}{4})\p{M}+/gu;

const SPACE = /[^\S\u{FEFF}]+/gu;

/** Returns untrusted text as one visible line, which may be empty. Does not escape it. */
export const displayText = (text: string): string =>
  text
    .replace(SPACE, ' ')
    .replace(INVISIBLE, '')
    .replace(INVISIBLE_MARKS, '')
    .replace(PILED_MARKS, '$1')
    .replace(SPACE, ' ')
    .trim();
