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
