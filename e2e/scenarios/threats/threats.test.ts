import { beforeAll, describe, expect, it } from 'vitest';
import {
  initializeRequest,
  MCP_HEADERS,
  raw,
  rpc,
  rpcReply,
  textOf,
  type RawResponse,
} from '../../harness/clients/raw.ts';
import { EXCHANGE_GRANT } from '../../harness/issuer.ts';
import { blockScope } from '../../harness/scope.ts';
import { BAD_REQUESTS } from './requests.ts';
import { openAs, type OwnedSession } from './session.ts';
import { BAD_TOKENS, GOOD_TOKENS } from './tokens.ts';
import { API_KEY, EXCHANGE_HEADER, OTHER_AUDIENCE, refusalOf, startWorld, type World } from './world.ts';

/** Rows of docs/threats.md that are tested in this file; the rest in `ELSEWHERE`. */
const HERE = new Set([35, 36, 37, 38, 39, 40, 47, 48, 49, 51, 53, 54, 55, 56, 57, 58, 69]);

/** Rows of other tests and rows about missing features, by place. */
const ELSEWHERE: Readonly<Record<string, readonly number[]>> = {
  'outages.test.ts, configuration.test.ts': [45, 52, 67, 72],
  'gateway/outbound/*.test.ts, for every outbound request': [42, 43],
  'with the embedded authorization server': [
    ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30],
    ...[31, 32, 33, 34, 41, 44, 46, 59, 60, 62, 63, 64, 65, 66, 68, 70, 71],
  ],
  'with rate limits': [50, 61],
  'gateway/workloads/*, e2e/workloads/remote-login.test.ts': [73, 74, 75, 76, 77],
};

const scope = blockScope();
let world: World;
/** Answers of the gateway in this file. */
const answers: RawResponse[] = [];

beforeAll(async () => {
  world = await startWorld(scope);
});

const METADATA_PATH = '/.well-known/oauth-protected-resource/mcp';
const metadataUrl = () => `${world.vmcp.origin}${METADATA_PATH}`;

/** Keeps the answer for the leak check. */
async function kept(answer: Promise<RawResponse>): Promise<RawResponse> {
  const received = await answer;
  answers.push(received);
  return received;
}

it('every row is tested here or listed elsewhere', () => {
  const rows = [...HERE, ...Object.values(ELSEWHERE).flat()].sort((a, b) => a - b);
  expect(rows).toEqual(Array.from({ length: 77 }, (_each, index) => index + 1));
  const tested = [...BAD_TOKENS, ...BAD_REQUESTS].map(([row]) => row);
  expect(tested.filter((row) => !HERE.has(row))).toEqual([]);
});

describe('accepts a token:', () => {
  it.each(GOOD_TOKENS)('%s', async (_what, make) => {
    const { status, body } = await kept(world.present(make(world)));
    expect({ status, body }).toEqual({ status: 200, body: expect.stringContaining('"protocolVersion"') });
  });
});

describe('rejects a token with 401 invalid_token and without the reason', () => {
  it.each(BAD_TOKENS)('row %i: %s', async (_row, _what, make) => {
    const token = make(world);
    world.issuer.issued.add(token);
    const answer = await kept(world.present(token));
    expect(answer.headers['www-authenticate']).toBe(
      `Bearer resource_metadata="${metadataUrl()}", error="invalid_token", error_description="the token is not valid here: log in again"`,
    );
    expect(answer).toMatchObject({
      status: 401,
      headers: {
        'cache-control': 'no-store',
        'access-control-expose-headers': 'WWW-Authenticate, Mcp-Session-Id, MCP-Protocol-Version',
      },
      body: '{"error":"invalid_token","error_description":"the token is not valid here: log in again"}',
    });
  });

  it('there are at least 60 JWTs among them', () => {
    const jwts = BAD_TOKENS.filter(([, what]) => !what.startsWith('an opaque token'));
    expect(jwts.length).toBeGreaterThanOrEqual(60);
  });

  it('row 36: sends no request to the untrusted issuer', () => {
    expect(world.stranger.seen).toEqual([]);
  });

  it('row 37: unknown kids cause at most one more fetch of the key set', () => {
    expect(world.issuer.seen.filter(({ endpoint }) => endpoint === 'jwks').length).toBeLessThanOrEqual(3);
  });
});

describe('rejects a request', () => {
  it.each(BAD_REQUESTS)('row %i: %s', async (_row, _what, make, { status, error }) => {
    const good = world.issuer.token();
    const answer = await kept(world.send(make(world, good)));
    const refused = refusalOf(answer);
    const isChallenged = error !== 'no challenge';
    expect(refused).toMatchObject({ status, challenged: isChallenged, error: isChallenged ? error : undefined });
    expect(refused.body).not.toMatch(/\bat .*:\d+:\d+|node_modules|\.ts:\d+/);
  });
});

describe('row 35: a token of one server at another', () => {
  it('gets 401 in both directions, and 200 at its own server', async () => {
    const forOther = world.issuer.token({ aud: OTHER_AUDIENCE, scope: 'mcp:use' });
    expect(refusalOf(await kept(world.present(forOther)))).toMatchObject({ status: 401, error: 'invalid_token' });
    const here = await kept(world.present(world.issuer.token({ scope: 'mcp:use' }), world.otherPort));
    expect(refusalOf(here)).toMatchObject({ status: 401, error: 'invalid_token' });
    expect((await world.present(forOther, world.otherPort)).status).toBe(200);
  });

  it.each([undefined, '', 'mcp', 'mcp:user', 'MCP:USE', 'mcp:use2 x'])(
    'gets 403 without the scope: %s',
    async (granted) => {
      const token = world.issuer.token({ aud: OTHER_AUDIENCE, scope: granted });
      const answer = await kept(world.present(token, world.otherPort));
      expect(answer.status).toBe(403);
      expect(answer.headers['www-authenticate']).toMatch(
        /^Bearer resource_metadata="https:\/\/other\.example\/\.well-known\/oauth-protected-resource\/mcp", scope="mcp:use", error="insufficient_scope", error_description="[^"]+"$/,
      );
    },
  );
});

describe('row 49: a forged Host or X-Forwarded header', () => {
  const FORGED = [
    'X-Forwarded-Host: evil.example',
    'X-Forwarded-Proto: https',
    'Forwarded: host=evil.example;proto=https',
    'X-Forwarded-Prefix: /evil',
  ];

  it('changes nothing in the challenge', async () => {
    const answer = await kept(world.send({ lines: FORGED }));
    expect(answer.headers['www-authenticate']).toBe(`Bearer resource_metadata="${metadataUrl()}"`);
  });

  it.each(['evil.example', '127.0.0.1', 'localhost'])('changes nothing in the metadata, Host %s', async (host) => {
    const usual = await world.send({ method: 'GET', path: METADATA_PATH });
    expect(JSON.parse(usual.body)).toMatchObject({
      resource: world.vmcp.url,
      authorization_servers: [world.issuer.url],
    });
    const answer = await kept(world.send({ method: 'GET', path: METADATA_PATH, host, lines: FORGED }));
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 200, body: usual.body });
  });
});

describe('a session', () => {
  let ann: OwnedSession;
  const UNKNOWN = '00000000-0000-4000-8000-000000000000';
  beforeAll(async () => {
    ann = await openAs(world.vmcp.url, world.issuer.token({ sub: 'ann' }));
  });

  const attempts = (token: string, id: string): Promise<RawResponse[]> => {
    const headers = { ...MCP_HEADERS, authorization: `Bearer ${token}`, 'mcp-session-id': id };
    return Promise.all([
      kept(raw(world.vmcp.url, { method: 'POST', headers, body: rpc('tools/list') })),
      kept(
        raw(world.vmcp.url, {
          method: 'POST',
          headers,
          body: '{"jsonrpc":"2.0","method":"notifications/initialized"}',
        }),
      ),
      kept(raw(world.vmcp.url, { headers: { ...headers, accept: 'text/event-stream' } })),
      kept(raw(world.vmcp.url, { method: 'DELETE', headers })),
    ]);
  };
  const bytes = ({ status, headers, body }: RawResponse) => ({
    status,
    type: headers['content-type'],
    challenge: headers['www-authenticate'],
    body,
  });

  it('row 51: of another user gets 404 like an unknown one, and stays open', async () => {
    const bob = world.issuer.token({ sub: 'bob' });
    const [foreign, unknown] = [await attempts(bob, ann.id), await attempts(bob, UNKNOWN)];
    expect(foreign.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
    expect(foreign.map(bytes)).toEqual(unknown.map(bytes));
    expect(textOf(await ann.call('plain_tool', { text: 'alive' }))).toBe('tool alive');
  });

  it('row 51: is not accessible to a user of the same name at another issuer', async () => {
    const [answer] = await attempts(world.stranger.token({ sub: 'ann' }), ann.id);
    expect(refusalOf(answer!)).toMatchObject({ status: 401, error: 'invalid_token' });
  });

  it('row 51: of an HTTP+SSE client is not accessible to others', async () => {
    const bearer = (sub: string) => ({ authorization: `Bearer ${world.issuer.token({ sub })}` });
    const stop = new AbortController();
    const stream = await fetch(`${world.vmcp.origin}/sse`, { headers: bearer('ann'), signal: stop.signal });
    const first = await stream.body?.getReader().read();
    const path = /data: (\/messages\S+)/.exec(Buffer.from(first?.value ?? []).toString())?.[1] ?? '';
    const post = (to: string, headers: Record<string, string>) =>
      kept(
        raw(world.vmcp.origin + to, {
          method: 'POST',
          headers: { ...MCP_HEADERS, ...headers },
          body: initializeRequest(),
        }),
      );
    const foreign = await post(path, bearer('bob'));
    expect(foreign.status).toBe(404);
    expect(bytes(foreign)).toEqual(bytes(await post(`/messages?sessionId=${UNKNOWN}`, bearer('bob'))));
    expect((await post(path, {})).status).toBe(401);
    expect((await post(path, bearer('ann'))).status).toBe(202);
    stop.abort();
  });

  it('continues with a new token of the same user', async () => {
    const later = ann.withToken(world.issuer.token({ sub: 'ann' }, { key: world.issuer.keys[1]! }));
    expect(textOf(await later.call('plain_tool', { text: 'refreshed' }))).toBe('tool refreshed');
  });

  it('row 53: has an id of the server, not one of the client', async () => {
    const chosen = 'chosen-by-the-client-0123456789';
    const token = world.issuer.token({ sub: 'ann' });
    const headers = { ...MCP_HEADERS, authorization: `Bearer ${token}`, 'mcp-session-id': chosen };
    const answer = await kept(raw(world.vmcp.url, { method: 'POST', headers, body: initializeRequest() }));
    expect([200, 400, 404]).toContain(answer.status);
    expect(answer.headers['mcp-session-id']).not.toBe(chosen);
    expect((await attempts(token, chosen)).map(({ status }) => status)).toEqual([404, 404, 404, 404]);
  });
});

describe('a backend receives', () => {
  let ann: OwnedSession;
  let token: string;
  beforeAll(async () => {
    token = world.issuer.token({ sub: 'ann' });
    ann = await openAs(world.vmcp.url, token);
  });
  const headersAt = (backend: keyof World['backends']) => world.backends[backend].seen.map(({ headers }) => headers);

  it('row 40: never the client’s token, its cookies or its forwarding headers', async () => {
    const more = {
      headers: { cookie: 'sid=1', 'proxy-authorization': 'Basic eDp5', dpop: 'proof', 'x-forwarded-user': 'root' },
    };
    for (const tool of ['plain_tool', 'keyed_tool', 'exchanged_tool']) {
      expect(textOf(await ann.call(tool, { text: 'hello' }, more))).toBe('tool hello');
    }
    const all = (['plain', 'keyed', 'exchanged', 'broken'] as const).flatMap(headersAt);
    expect(all.length).toBeGreaterThan(6);
    const text = JSON.stringify(all);
    expect(text).not.toContain(token.split('.')[2]);
    for (const name of ['cookie', 'proxy-authorization', 'dpop', 'x-forwarded-user', 'authorization'])
      expect(
        all.filter((headers) => headers[name] !== undefined),
        name,
      ).toEqual([]);
  });

  it('row 40: its own credential and no credential of another backend', () => {
    const carrying = (name: string) =>
      (['plain', 'keyed', 'exchanged'] as const).filter((each) =>
        headersAt(each).some((headers) => headers[name] !== undefined),
      );
    expect(carrying('x-api-key')).toEqual(['keyed']);
    expect(headersAt('keyed').every((headers) => headers['x-api-key'] === API_KEY)).toBe(true);
    expect(carrying(EXCHANGE_HEADER)).toEqual(['exchanged']);
    const exchanged = headersAt('exchanged').at(-1)?.[EXCHANGE_HEADER];
    expect(exchanged).toMatch(/^Bearer eyJ/);
    const [, payload = ''] = String(exchanged).split('.');
    expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).toMatchObject({ sub: 'ann', aud: 'exchanged' });
  });

  it('row 56: no value with a line break, and no request without its credential', async () => {
    const { error, result } = await ann.call('broken_tool');
    expect(error ?? result?.['isError']).toBeTruthy();
    expect(headersAt('broken')).toEqual([]);
  });

  const reply = (members: Record<string, unknown>) => () => ({
    json: {
      access_token: 'x'.repeat(20),
      token_type: 'Bearer',
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      expires_in: 60,
      ...members,
    },
  });
  it.each([
    [56, 'a token with CR LF', reply({ access_token: 'INTERNAL-DETAIL\r\nX-Smuggled: yes' })],
    [69, 'token_type mac', reply({ token_type: 'mac', access_token: 'INTERNAL-DETAIL' })],
    [69, 'token_type N_A', reply({ token_type: 'N_A', access_token: 'INTERNAL-DETAIL' })],
    [69, 'an empty token', reply({ access_token: '' })],
    [69, 'a token that is a number', reply({ access_token: 7 })],
    [69, 'no issued_token_type', reply({ issued_token_type: undefined })],
    [69, 'an error with 200', () => ({ json: { error: 'invalid_grant', error_description: 'INTERNAL-DETAIL' } })],
    [69, '2 MB', 'huge' as const],
    [58, 'HTML', 'html' as const],
    [58, 'half a document', 'garbage' as const],
    [58, 'nothing', 'empty' as const],
    [58, '500 with details', 'status-500' as const],
    [58, '404 with details', 'status-404' as const],
    [58, 'a redirect', 'redirect' as const],
  ])(
    'row %i: no request when the token endpoint answers %s; the client gets no details',
    async (row, what, behaviour) => {
      const user = await openAs(world.vmcp.url, world.issuer.token({ sub: `user of ${String(row)} ${what}` }));
      const before = world.backends.exchanged.seen.length;
      world.issuer.behave.token = behaviour;
      try {
        const answer = await kept(user.post(rpc('tools/call', { name: 'exchanged_tool', arguments: {} })));
        expect(answer.headers['content-type']).toMatch(/json|event-stream/);
        if (answer.status === 200) expect(rpcReply(answer).error ?? rpcReply(answer).result?.['isError']).toBeTruthy();
        else expect([401, 403, 503]).toContain(answer.status);
        expect(JSON.stringify(answer)).not.toMatch(/INTERNAL-DETAIL|sign in|127\.0\.0\.1:\d+\/token|X-Smuggled/);
      } finally {
        delete world.issuer.behave.token;
      }
      expect(world.backends.exchanged.seen.length).toBe(before);
      expect(textOf(await user.call('plain_tool', { text: 'others go on' }))).toBe('tool others go on');
    },
  );

  it('exchanged tokens that were requested by RFC 8693 with the token of the user', () => {
    const exchanges = world.issuer.seen.filter(({ endpoint }) => endpoint === 'token');
    expect(exchanges.length).toBeGreaterThan(3);
    for (const { method, form, headers } of exchanges) {
      expect(method).toBe('POST');
      expect(headers.authorization).toMatch(/^Basic /);
      expect(form.get('grant_type')).toBe(EXCHANGE_GRANT);
      expect(world.issuer.issued.has(form.get('subject_token') ?? '')).toBe(true);
    }
  });
});

describe('row 58: introspection that fails', () => {
  it.each(['status-500', 'status-401', 'status-404', 'html', 'garbage', 'empty', 'huge', 'redirect', 'reset'] as const)(
    'with the fault %s gives 503 with Retry-After, without details',
    async (behaviour) => {
      world.issuer.behave.introspection = behaviour;
      try {
        const answer = await kept(world.present(world.issuer.opaqueToken()));
        expect(refusalOf(answer)).toMatchObject({ status: 503, challenged: false });
        expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
        expect(JSON.parse(answer.body)).toEqual({
          error: 'temporarily_unavailable',
          error_description: expect.any(String),
        });
        expect(answer.body).not.toMatch(/INTERNAL-DETAIL|sign in|introspect|127\.0\.0\.1/);
      } finally {
        delete world.issuer.behave.introspection;
      }
    },
  );

  it.each([
    ['active as text', { active: 'true' }],
    ['active as a number', { active: 1 }],
    ['no active', { active: undefined }],
    ['another audience', { aud: 'https://else.example' }],
  ])('with a wrong answer accepts no token: %s', async (_what, members) => {
    const claims = { iss: world.issuer.url, aud: 'unset', sub: 'ann', exp: 9_999_999_999, active: true };
    world.issuer.behave.introspection = () => ({ json: { ...claims, ...members } });
    try {
      const answer = await kept(world.present(world.issuer.opaqueToken()));
      expect([401, 503]).toContain(answer.status);
    } finally {
      delete world.issuer.behave.introspection;
    }
  });
});

describe('row 57: after all requests', () => {
  /** Issued secrets, and the secret parts of issued JWTs. */
  const secrets = (): string[] =>
    [...world.issuer.issued, ...world.stranger.issued, API_KEY]
      .flatMap((secret) => {
        const parts = secret.split('.');
        return parts.length === 3 ? parts.slice(1) : [secret];
      })
      .filter((part) => part.length >= 12);

  it('no log line contains a token, a key or a secret at level debug', async () => {
    await expect.poll(world.vmcp.output).toContain('bearer token refused'); // otherwise the log is too short for a proof
    const log = world.vmcp.output();
    expect(secrets().length).toBeGreaterThan(100);
    expect(secrets().filter((secret) => log.includes(secret))).toEqual([]);
  });

  it('no answer contains one', () => {
    const all = JSON.stringify(answers);
    expect(answers.length).toBeGreaterThan(150);
    expect(secrets().filter((secret) => all.includes(secret))).toEqual([]);
  });

  it('no management page contains one', async () => {
    for (const path of ['/metrics', '/status', '/api/backends/health']) {
      const { status, body } = await raw(world.vmcp.management + path);
      expect(status).toBe(200);
      expect(secrets().filter((secret) => body.includes(secret))).toEqual([]);
    }
  });
});
