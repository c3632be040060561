/** A random source of numbers below 1, reproducible by its seed. */
export type Random = () => number;

/** Returns a random source (mulberry32). */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Returns one of the items; there must be at least one. */
export const pick = <T>(random: Random, items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;

const at = (random: Random, text: string): number => Math.floor(random() * (text.length + 1));
const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** Characters with a meaning in headers, JSON, shells and regular expressions. */
const ODD = [
  ' ',
  '\t',
  ',',
  ';',
  '"',
  "'",
  '\\',
  '=',
  '.',
  '..',
  '/',
  '+',
  '~',
  '%0d%0a',
  '{',
  '}',
  '$',
  '<',
  '\x7f',
  '\xe9',
  '\xff',
];

type Mutation = (random: Random, token: string) => string;

/** Changes of a token; most keep a part of it that must not leak. */
const MUTATIONS: readonly Mutation[] = [
  (random, token) => {
    const where = at(random, token);
    return token.slice(0, where) + BASE64URL.charAt(Math.floor(random() * BASE64URL.length)) + token.slice(where + 1);
  },
  (random, token) => {
    const where = at(random, token);
    return token.slice(0, where) + pick(random, ODD) + token.slice(where);
  },
  (random, token) => token.slice(0, at(random, token)),
  (random, token) => token.slice(at(random, token)),
  (random, token) => {
    const where = at(random, token);
    return token.slice(0, where) + token.slice(where + 1 + Math.floor(random() * 20));
  },
  (random, token) =>
    pick(random, [token.toUpperCase(), token.toLowerCase(), Buffer.from(token, 'latin1').reverse().toString('latin1')]),
  (random, token) =>
    token
      .split('.')
      .sort(() => random() - 0.5)
      .join('.'),
  (random, token) => token + pick(random, ['.', '=', '==', `.${token}`, token]),
  (random, token) => token.replaceAll('.', pick(random, ['', '..', ' ', '_', ','])),
  (random, token) => rewrite(random, token, 0),
  (random, token) => rewrite(random, token, 1),
  (random, token) => Buffer.from(token).toString(pick(random, ['base64', 'hex', 'base64url'])),
];

/** Changes members of the header or the payload and keeps the signature. */
function rewrite(random: Random, token: string, part: 0 | 1): string {
  const parts = token.split('.');
  try {
    const members = JSON.parse(Buffer.from(parts[part] ?? '', 'base64url').toString()) as Record<string, unknown>;
    const name = pick(random, [...Object.keys(members), 'alg', 'kid', 'crit', 'jwk', '__proto__', 'constructor']);
    const value = pick(random, [
      null,
      0,
      -1,
      1e21,
      '',
      'none',
      'x'.repeat(2_000),
      [],
      {},
      [[]],
      true,
      token.slice(0, 60),
    ]);
    const text = JSON.stringify({ ...members, [name]: value });
    parts[part] = Buffer.from(pick(random, [text, text.slice(1), `[${text}]`, `${text}${text}`])).toString('base64url');
  } catch {
    parts[part] = 'e30';
  }
  return parts.join('.');
}

export function mutate(random: Random, token: string): string {
  let changed = token;
  for (let left = 1 + Math.floor(random() * 3); left > 0; left -= 1) changed = pick(random, MUTATIONS)(random, changed);
  return changed;
}

type Placement = (token: string) => readonly string[];

const usual: Placement = (token) => [`Authorization: Bearer ${token}`];

/** Header lines with a token. */
const PLACEMENTS: readonly Placement[] = [
  (token) => [`authorization:bearer   ${token}`],
  (token) => [`Authorization: Bearer ${token}`, `Authorization: Bearer ${token}`],
  (token) => [`Authorization: Bearer Bearer ${token}`],
  (token) => [`Authorization: ${token}`],
  (token) => [`Authorization: Token ${token}`],
  (token) => [`Authorization: Bearer ${token}`, `Mcp-Session-Id: ${token.slice(0, 200)}`],
  (token) => [`Authorization: Bearer ${token}`, `X-Request-Id: ${token.slice(0, 100)} x`],
  (token) => [`Authorization: Bearer ${token}`, `Origin: https://${token.slice(0, 60)}`],
  (token) => [`Authorization: Bearer ${token}`, `MCP-Protocol-Version: ${token.slice(0, 60)}`],
  (token) => [`Proxy-Authorization: Bearer ${token}`, `Cookie: token=${token}`],
];

/** Returns random header lines with a token. */
export const place = (random: Random, token: string): readonly string[] =>
  (random() < 0.6 ? usual : pick(random, PLACEMENTS))(token);
