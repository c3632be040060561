import type { BytesRequest } from '../../harness/clients/bytes.ts';
import { rpc } from '../../harness/clients/raw.ts';
import type { World } from './world.ts';

export interface Refused {
  readonly status: number;
  /** `error` of the challenge; undefined for a challenge without one; `no challenge` for an answer without a challenge. */
  readonly error?: 'invalid_request' | 'invalid_token' | 'no challenge';
}

/** A request that must be rejected: row of docs/threats.md, description, lines of the request, expected answer. */
export type BadRequest = readonly [
  row: number,
  what: string,
  make: (world: World, good: string) => BytesRequest,
  refused: Refused,
];

const lines =
  (linesOf: (good: string) => readonly string[]) =>
  (_world: World, good: string): BytesRequest => ({ lines: linesOf(good) });

const authorization = (valueOf: (good: string) => string) => lines((good) => [`Authorization: ${valueOf(good)}`]);

const INVALID_REQUEST: Refused = { status: 400, error: 'invalid_request' };
const INVALID_TOKEN: Refused = { status: 401, error: 'invalid_token' };
const NO_CREDENTIALS: Refused = { status: 401 };
const BY_PARSER: Refused = { status: 400, error: 'no challenge' };
const FORBIDDEN: Refused = { status: 403, error: 'no challenge' };

const HEADERS: readonly BadRequest[] = [
  [54, 'no Authorization', lines(() => []), NO_CREDENTIALS],
  [
    54,
    'Authorization twice',
    lines((good) => [`Authorization: Bearer ${good}`, `Authorization: Bearer ${good}`]),
    INVALID_REQUEST,
  ],
  [
    54,
    'Authorization twice, the second of another case',
    lines((good) => [`Authorization: Bearer ${good}`, `aUTHORIZATION: Basic eDp5`]),
    INVALID_REQUEST,
  ],
  [54, 'Bearer twice', authorization((good) => `Bearer Bearer ${good}`), INVALID_REQUEST],
  [54, 'Bearer alone', authorization(() => 'Bearer'), INVALID_REQUEST],
  [54, 'two tokens', authorization((good) => `Bearer ${good} ${good}`), INVALID_REQUEST],
  [54, 'a list', authorization((good) => `Bearer ${good}, Bearer ${good}`), INVALID_TOKEN],
  [54, 'a list without Bearer', authorization((good) => `Bearer ${good},${good}`), INVALID_TOKEN],
  [54, 'quotes', authorization((good) => `Bearer "${good}"`), INVALID_TOKEN],
  [54, 'bytes beyond ASCII', authorization((good) => `Bearer ${good}\xff`), INVALID_TOKEN],
  [54, 'NUL', authorization((good) => `Bearer ${good}\0`), BY_PARSER],
  [54, 'a bare CR', authorization((good) => `Bearer ${good}\rX-Smuggled: 1`), BY_PARSER],
  [54, 'a folded line', lines((good) => ['Authorization: Bearer', ` ${good}`]), BY_PARSER],
  [54, '17 KB', authorization(() => `Bearer ${'a'.repeat(17 * 1024)}`), INVALID_TOKEN],
  [54, '100 KB', authorization(() => `Bearer ${'a'.repeat(100 * 1024)}`), { status: 431, error: 'no challenge' }],
  [54, 'the token in the query', (_world, good) => ({ path: `/mcp?access_token=${good}` }), NO_CREDENTIALS],
  [
    54,
    'the token in a form',
    (_world, good) => ({ body: `access_token=${good}`, lines: ['Content-Type: application/x-www-form-urlencoded'] }),
    NO_CREDENTIALS,
  ],
  [54, 'the token in a cookie', lines((good) => [`Cookie: access_token=${good}`]), NO_CREDENTIALS],
  [
    54,
    'the token in other headers',
    lines((good) => [
      `Proxy-Authorization: Bearer ${good}`,
      `X-Forwarded-Authorization: Bearer ${good}`,
      `X-Forwarded-User: ann`,
    ]),
    NO_CREDENTIALS,
  ],
  [54, 'Basic', authorization((good) => `Basic ${Buffer.from(`ann:${good}`).toString('base64')}`), NO_CREDENTIALS],
  [54, 'DPoP', authorization((good) => `DPoP ${good}`), NO_CREDENTIALS],
];

const chunked = (good: string) => [`Authorization: Bearer ${good}`, 'Transfer-Encoding: chunked'];

const FRAMING: readonly BadRequest[] = [
  [
    55,
    'Content-Length and Transfer-Encoding',
    (_world, good) => ({
      lines: [...chunked(good), 'Content-Length: 5'],
      body: '0\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n',
    }),
    BY_PARSER,
  ],
  [
    55,
    'two Content-Lengths',
    (_world, good) => ({
      lines: [`Authorization: Bearer ${good}`, 'Content-Length: 2', 'Content-Length: 4'],
      body: '{}{}',
    }),
    BY_PARSER,
  ],
  [
    55,
    'a Content-Length with a sign',
    (_world, good) => ({ lines: [`Authorization: Bearer ${good}`, 'Content-Length: +2'], body: '{}' }),
    BY_PARSER,
  ],
  [
    55,
    'Transfer-Encoding twice',
    (_world, good) => ({ lines: [...chunked(good), 'Transfer-Encoding: identity'], body: '0\r\n\r\n' }),
    BY_PARSER,
  ],
  [
    55,
    'a blank before the colon',
    (_world, good) => ({ lines: [`Authorization: Bearer ${good}`, 'Transfer-Encoding : chunked'], body: '0\r\n\r\n' }),
    BY_PARSER,
  ],
];

const ORIGINS: readonly BadRequest[] = [
  ...['evil.example', 'gateway.example', '127.0.0.1.evil.example', 'localhost.evil.example', ''].flatMap(
    (host): BadRequest[] => [
      [
        47,
        `Host ${host || 'empty'} with a good token`,
        (_world, good) => ({ host, lines: [`Authorization: Bearer ${good}`] }),
        FORBIDDEN,
      ],
      [47, `Host ${host || 'empty'} without a token`, () => ({ host }), FORBIDDEN],
    ],
  ),
  ...['https://evil.example', 'null', 'http://localhost.evil.example', 'file://'].flatMap((origin): BadRequest[] => [
    [
      48,
      `Origin ${origin} with a good token`,
      (_world, good) => ({ lines: [`Origin: ${origin}`, `Authorization: Bearer ${good}`] }),
      FORBIDDEN,
    ],
    [
      48,
      `Origin ${origin} on a GET`,
      (_world, good) => ({ method: 'GET', lines: [`Origin: ${origin}`, `Authorization: Bearer ${good}`] }),
      FORBIDDEN,
    ],
    [
      48,
      `Origin ${origin} in a preflight`,
      () => ({ method: 'OPTIONS', lines: [`Origin: ${origin}`, 'Access-Control-Request-Method: POST'] }),
      FORBIDDEN,
    ],
  ]),
];

const PLACES: readonly BadRequest[] = [
  ...['POST', 'GET', 'DELETE', 'PUT', 'OPTIONS'].map((method): BadRequest => [
    54,
    `${method} /mcp without a token`,
    () => ({ method }),
    NO_CREDENTIALS,
  ]),
  ...['/sse', '/messages?sessionId=x', '/nowhere', '/mcp/', '/mcp/x', '//mcp', '/status', '/metrics'].map(
    (path): BadRequest => [54, `${path} without a token`, () => ({ method: 'GET', path }), NO_CREDENTIALS],
  ),
  [
    54,
    'an unknown session without a token',
    () => ({ lines: ['Mcp-Session-Id: x'], body: rpc('tools/list') }),
    NO_CREDENTIALS,
  ],
];

export const BAD_REQUESTS: readonly BadRequest[] = [...HEADERS, ...FRAMING, ...ORIGINS, ...PLACES];
