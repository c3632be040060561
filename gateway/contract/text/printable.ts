/**
 * Characters that a terminal does not show, or that change how it shows others: controls, formats (bidirectional controls,
 * zero-width characters, tags), line separators and lone surrogates, then blank letters and ignorable code points. Formats
 * with a glyph, as in Arabic, and variants of a glyph are none of them.
 */
const HIDDEN =
  /(?!\u200C|\u200D|[\u0600-\u0605\u06DD\u070F\u0890\u0891\u08E2\u{110BD}\u{110CD}])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|\u034F|\u17B4|\u17B5|[\u180B-\u180D]|\u180F|[\u115F\u1160\u2065\u2800\u3164\uFFA0\uFFF0-\uFFF8\u{E0000}-\u{E0FFF}]/u;
/** Joiners that do not belong to the letter before them. In Persian, in scripts of India and in emoji they do. */
const LOOSE_JOINER =
  /(?<![\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}\p{scx=Arab}\p{scx=Syrc}\p{scx=Mong}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}])(?:\u200C|\u200D)/u;
const INVISIBLE = new RegExp(`${HIDDEN.source}|${LOOSE_JOINER.source}`, 'gu');
/** Most texts have none of these characters, and this test costs little. */
const SUSPECT = /[^\u0020-\u007E]/u;

/** Returns true for a text with a character that {@link printable} replaces. */
export const hasInvisible = (text: string): boolean => SUSPECT.test(text) && text.search(INVISIBLE) !== -1;

/** Returns a foreign text as one line that changes nothing else on a terminal: replaces invisible characters by U+FFFD. */
export const printable = (text: string): string => (SUSPECT.test(text) ? text.replaceAll(INVISIBLE, '\uFFFD') : text);

/** Returns an invisible character as JSON escapes it, such as `\u202e`. */
const escaped = (character: string): string =>
  Array.from({ length: character.length }, (_, at) => {
    const unit = character.charCodeAt(at).toString(16);
    return String.raw`\u${unit.padStart(4, '0')}`;
  }).join('');

/** Escapes the invisible characters of a text except tabs and line feeds. JSON keeps its meaning: it has the others in strings only. */
export const escapeInvisible = (text: string): string =>
  SUSPECT.test(text)
    ? text.replaceAll(INVISIBLE, (found) => (found === '\n' || found === '\t' ? found : escaped(found)))
    : text;

/** Renders a document in JSON for people and programs: invisible characters, which JSON may hold as they are, are escapes. */
export const jsonText = (value: unknown, indent?: number): string =>
  escapeInvisible(JSON.stringify(value, null, indent));
/** Quotes a word for a POSIX shell if it needs quotes. */
export const shellWord = (text: string): string =>
  /^[\w./:@=,+-]+$/u.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
