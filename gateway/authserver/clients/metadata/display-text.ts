/**
 * What is not seen, or turns the order of its neighbours around: controls, formats (bidi, zero width, tags), separators
 * of lines, halves of surrogates, private and unassigned characters, and the letters that are blank.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]|[\u{115F}\u{1160}\u{2800}\u{3164}\u{FFA0}]/gu;
/** Marks without a shape. */
const UNSEEN_MARKS = /\u{34F}|\u{17B4}|\u{17B5}/gu;
/** More marks on one letter than any language writes: they would climb over the lines around. */
const PILED_MARKS = /(\p{M}{4})\p{M}+/gu;

const SPACE = /[^\S\u{FEFF}]+/gu;

/** A foreign text as one visible line. May be empty. Not escaped. */
export const displayText = (text: string): string =>
  text
    .replace(SPACE, ' ')
    .replace(UNSEEN, '')
    .replace(UNSEEN_MARKS, '')
    .replace(PILED_MARKS, '$1')
    .replace(SPACE, ' ')
    .trim();
