/** Finds parts of JSON texts. Shares no code with the gateway, which it checks. */

const OPEN = new Set(['{', '[']);
const CLOSE = new Set(['}', ']']);
const isSpace = (char: string | undefined): boolean => char !== undefined && ' \t\r\n'.includes(char);

const skipSpace = (text: string, at: number): number => {
  while (isSpace(text[at])) at += 1;
  return at;
};

/** Returns the offset after the string that starts at `at`. */
function stringEnd(text: string, at: number): number {
  for (let index = at + 1; index < text.length; index += 1) {
    if (text[index] === '\\') index += 1;
    else if (text[index] === '"') return index + 1;
  }
  throw new Error('a string does not end');
}

/** Returns the offset after the value that starts at `at`. */
function valueEnd(text: string, at: number): number {
  const first = text[at] ?? '';
  if (first === '"') return stringEnd(text, at);
  if (!OPEN.has(first)) {
    let end = at;
    while (end < text.length && !isSpace(text[end]) && !',]}'.includes(text[end] ?? '')) end += 1;
    return end;
  }
  let depth = 0;
  for (let index = at; index < text.length; index += 1) {
    const char = text[index] ?? '';
    if (char === '"') index = stringEnd(text, index) - 1;
    else if (OPEN.has(char)) depth += 1;
    else if (CLOSE.has(char) && (depth -= 1) === 0) return index + 1;
  }
  throw new Error('a value does not end');
}

/** Returns the place of the value of a member of the outermost object; undefined without this member. */
export function memberSpan(text: string, name: string): { start: number; end: number } | undefined {
  let at = skipSpace(text, 0);
  if (text[at] !== '{') throw new Error(`not an object: ${text.slice(0, 60)}`);
  at = skipSpace(text, at + 1);
  while (text[at] === '"') {
    const keyEnd = stringEnd(text, at);
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = valueEnd(text, start);
    if (text.slice(at, keyEnd) === JSON.stringify(name)) return { start, end };
    at = skipSpace(text, skipSpace(text, end) + 1);
  }
  return undefined;
}

/** Returns the text of the value of a member. */
export function memberText(text: string, name: string): string | undefined {
  const span = memberSpan(text, name);
  return span && text.slice(span.start, span.end);
}

/** Returns the texts of the elements of an array. */
export function elementTexts(text: string): string[] {
  const elements: string[] = [];
  let at = skipSpace(text, 1);
  while (at < text.length && text[at] !== ']') {
    const end = valueEnd(text, at);
    elements.push(text.slice(at, end));
    at = skipSpace(text, skipSpace(text, end) + (text[skipSpace(text, end)] === ',' ? 1 : 0));
  }
  return elements;
}
