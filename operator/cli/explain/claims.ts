/** Reads `sub=alice,groups=admins|ops,level=3`: `|` separates the values of a list. Returns undefined for another text. */
export function readClaims(text: string): Readonly<Record<string, unknown>> | undefined {
  const pairs = text.split(',').map((pair) => /^([^=]+)=(.*)$/u.exec(pair.trim()));
  if (pairs.some((pair) => pair === null)) return undefined;
  const claims = Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? '', valueOf(pair?.[1] ?? '', pair?.[2] ?? '')]));
  return typeof claims['sub'] === 'string' && claims['sub'] !== '' ? claims : undefined;
}

function valueOf(name: string, text: string): unknown {
  if (name === 'sub') return text;
  if (text.includes('|')) return text.split('|').filter((value) => value !== '');
  if (text === 'true' || text === 'false') return text === 'true';
  const number = Number(text);
  return String(number) === text && Number.isSafeInteger(number) ? number : text;
}
