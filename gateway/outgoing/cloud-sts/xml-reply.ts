const MAX_DEPTH = 16;

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** `/` before the name: end tag. `/` at the end: empty element. Attributes cannot hold `>` here. */
const TAG = /^(\/?)([A-Za-z_][\w.:-]*)((?:\s[^<>]*)?\/?)$/u;

/**
 * Returns the texts of the leaf elements of an XML document, by path (`Response/Result/Name`). Reads the subset that
 * query APIs of AWS answer with: elements, texts and the five predefined entities. Undefined for anything else, such as a
 * document type, a comment, an unbalanced tag or a repeated leaf. Linear in the length.
 * @see https://www.w3.org/TR/xml/
 */
export function leafTexts(xml: string): ReadonlyMap<string, string> | undefined {
  const texts = new Map<string, string>();
  const open: string[] = [];
  let isLeaf = false;
  let ended = false;
  let at = startOf(xml);
  while (at < xml.length) {
    const start = xml.indexOf('<', at);
    const text = xml.slice(at, start < 0 ? undefined : start);
    if (open.length === 0 && text.trim() !== '') return undefined;
    if (start < 0) break;
    const end = xml.indexOf('>', start);
    const [, close, name = '', rest = ''] = (end < 0 ? null : TAG.exec(xml.slice(start + 1, end))) ?? [];
    if (close === undefined || ended || open.length >= MAX_DEPTH) return undefined;
    at = end + 1;
    if (close === '') {
      if (text.trim() !== '') return undefined; // text beside elements
      isLeaf = !rest.endsWith('/');
      if (isLeaf) open.push(name);
    } else {
      if (rest.trim() !== '' || open.at(-1) !== name) return undefined;
      if (isLeaf ? !setOnce(texts, open.join('/'), decoded(text)) : text.trim() !== '') return undefined;
      open.pop();
      isLeaf = false;
      ended = open.length === 0;
    }
  }
  return ended ? texts : undefined;
}

/** Skips the byte order mark and the XML declaration. */
function startOf(xml: string): number {
  const at = xml.startsWith('\uFEFF') ? 1 : 0;
  if (!xml.startsWith('<?xml ', at)) return at;
  const end = xml.indexOf('?>', at);
  return end < 0 ? xml.length : end + 2;
}

function setOnce(texts: Map<string, string>, path: string, text: string | undefined): boolean {
  if (text === undefined || texts.has(path)) return false;
  texts.set(path, text);
  return true;
}

const MAX_CODE_POINT = 0x10_ff_ff;

/** Resolves entities and character references; undefined for an unknown one. */
function decoded(text: string): string | undefined {
  const pieces = text.split('&');
  let result = pieces[0] ?? '';
  for (const piece of pieces.slice(1)) {
    const end = piece.indexOf(';');
    const character = end < 0 ? undefined : characterOf(piece.slice(0, end));
    if (character === undefined) return undefined;
    result += character + piece.slice(end + 1);
  }
  return result;
}

function characterOf(name: string): string | undefined {
  if (Object.hasOwn(ENTITIES, name)) return ENTITIES[name];
  const [, hex, decimal] = /^#(?:x([0-9a-fA-F]{1,6})|([0-9]{1,7}))$/u.exec(name) ?? [];
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
  return code <= MAX_CODE_POINT ? String.fromCodePoint(code) : undefined;
}
