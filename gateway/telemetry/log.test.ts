import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createLog, type LogOptions, type RootLog } from './log.ts';

function texts(write: (log: RootLog) => void, options: LogOptions = {}): string[] {
  const text: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text.push(chunk.toString());
      done();
    },
  });
  write(createLog(stream, 'info', options));
  return text;
}

const lines = (write: (log: RootLog) => void): Record<string, unknown>[] =>
  texts(write).map((line) => JSON.parse(line) as Record<string, unknown>);

describe('createLog', () => {
  it('writes one JSON object per line with time, level and fields', () => {
    const [line] = lines((log) => log.warn('backend call failed', { backend: 'a', reason: 'timeout' }));
    expect(line).toMatchObject({ level: 'warn', message: 'backend call failed', backend: 'a', reason: 'timeout' });
    expect(Date.parse(String(line?.['timestamp']))).not.toBeNaN();
  });

  it('writes message, time and level before the fields', () => {
    const [line] = lines((log) => log.child({ server: 'tools' }).warn('late', { backend: 'a', cause: 'b' }));
    expect(Object.keys(line ?? {})).toEqual(['message', 'timestamp', 'level', 'server', 'backend', 'cause']);
  });

  it('writes one redacted line of text per entry', () => {
    const [line] = texts((log) => log.warn('late', { backend: 'a', code: 'canary' }), { format: 'text' });
    expect(line).toMatch(/^\d\d:\d\d:\d\d {2}WARN {3}a {11} {2}late {2}code=\[redacted\]\n$/u);
  });

  it('rows 106 and 107: writes no character that a terminal obeys, and keeps the meaning of JSON', () => {
    const hostile = 'x\u202Ey\u009B31m\u2028z\u007F';
    const write = (log: RootLog): void => log.warn('late', { backend: hostile, detail: hostile });
    const [json = ''] = texts(write);
    expect(json).toMatch(/^[\u0020-\u007E]+\n$/u);
    expect(JSON.parse(json)).toMatchObject({ backend: hostile, detail: hostile });
    const [text = ''] = texts(write, { format: 'text' });
    expect(text).toContain('x\uFFFDy\uFFFD31m\uFFFDz\uFFFD');
    expect(text).not.toMatch(/[\u007F-\u009F\u2028-\u202E]/u);
  });

  it('writes nothing below its level', () => {
    expect(lines((log) => log.debug('x'))).toEqual([]);
  });

  it('does not read the fields of an entry below its level', () => {
    let reads = 0;
    const fact = {
      get path() {
        reads += 1;
        return 'a path';
      },
    };
    expect(lines((log) => log.debug('x', { fact }))).toEqual([]);
    expect(reads).toBe(0);
    lines((log) => log.info('x', { fact }));
    expect(reads).toBeGreaterThan(0);
  });

  it('redacts secrets in fields, nested fields and texts', () => {
    const canary = 'canary-7f3a';
    const text = JSON.stringify(
      lines((log) => {
        log.info('x', {
          authorization: `Bearer ${canary}`,
          headers: { Cookie: canary, 'x-api-key': canary },
          list: [{ access_token: canary }],
        });
        log.info('x', {
          error: `GET failed with Authorization: Bearer ${canary}${canary}`,
          code: canary,
          code_verifier: canary,
        });
        log.info(`token eyJhbGciOiJIUzI1NiJ9.${canary}.sig`);
      }),
    );
    expect(text).not.toContain(canary);
    expect(text).toContain('[redacted]');
  });

  const RANDOM = 'Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6';

  it.each([
    ['a code', `redeeming vac_${RANDOM}.${RANDOM} failed`],
    ['a refresh token', `vrt_${RANDOM}.${RANDOM}`],
    ['a cookie value', `got vck_${RANDOM}.${RANDOM}`],
    ['a client secret', `client vcs_${RANDOM}`],
    ['a registration token', `(vra_${RANDOM})`],
    ['a code in a query', `GET /oauth/callback?code=${RANDOM}&x=1`],
    ['a state in a query', `GET /oauth/callback?x=1&state=${RANDOM} HTTP/1.1`],
    ['tokens in a form', `token=${RANDOM}&access_token=${RANDOM}&refresh_token=${RANDOM}&id_token_hint=${RANDOM}`],
    ['credentials in a form', `client_secret=${RANDOM}&code_verifier=${RANDOM}&nonce=${RANDOM}&csrf=${RANDOM}`],
    ['members of JSON', JSON.stringify({ code: RANDOM, access_token: RANDOM, client_secret: RANDOM, state: RANDOM })],
    ['a signed JWT', `eyJhbGciOiJFUzI1NiJ9.${RANDOM}.${RANDOM}`],
    ['an encrypted JWT', `eyJhbGciOiJkaXIifQ..${RANDOM}.${RANDOM}.${RANDOM}`],
    ['a cookie header', `Cookie: a=1; session=${RANDOM}`],
    ['a cookie of a page', `sent __Host-vmcp-consent-abc=1700000000.${RANDOM}; vmcp-flow-x=${RANDOM}`],
    ['credentials in a header', `authorization: basic ${RANDOM}`],
  ])('redacts %s in a text', (_what, secret) => {
    const text = JSON.stringify(lines((log) => log.info(secret, { list: [{ error: secret }] })));
    expect(text).not.toContain(RANDOM);
    expect(text).toContain('[redacted]');
  });

  it.each([
    'nonce',
    'codeVerifier',
    'code_verifier',
    'tsid',
    'csrf',
    'client_secret',
    'set-cookie',
    'client_assertion',
  ])('redacts the value of %s', (name) => {
    expect(JSON.stringify(lines((log) => log.info('x', { deep: { [name]: 'canary' } })))).not.toContain('canary');
  });

  it('redacts values beyond the maximum depth', () => {
    const deep = { a: { b: { c: { d: { e: { f: { g: { code: 'canary' } } } } } } } };
    expect(JSON.stringify(lines((log) => log.info('x', deep)))).not.toContain('canary');
  });

  it('leaves plain facts unchanged', () => {
    const facts = { client_id: 'vcl_abc', path: '/oauth/token', reason: 'code_replayed', error: 'decode=1, estate=2' };
    expect(lines((log) => log.info('x', facts))[0]).toMatchObject(facts);
  });
});
