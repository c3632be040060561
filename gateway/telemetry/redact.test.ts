import { describe, expect, it } from 'vitest';
import { redact, redactContent, redactText } from './redact.ts';

/** Characters of the hostile texts: a quadratic pattern takes some seconds for them, a linear one a few milliseconds. */
const LENGTH = 64 * 1_024;

const CANARY = 'canary-7f3a91c0';

/** Returns a member inside JSON inside JSON, each behind another text. */
function nested(levels: number, value: object): string {
  let text = JSON.stringify(value);
  for (let level = 0; level < levels; level += 1) text = JSON.stringify({ error: `failed: ${text} at 3` });
  return `it ${text}`;
}

/** Texts with a secret that the log and the audit log replace. Row 112. */
const SECRETS = [
  `error: {"password":"${CANARY}"}`,
  `prefix {"token" : "${CANARY}", "b": 1} suffix`,
  `got [{"clientSecret":["${CANARY}"]}] and {"credentials":{"a":{"b":"} ${CANARY}"}}} too`,
  nested(1, { password: `a"b ${CANARY}` }),
  nested(2, { api_key: `\\" ${CANARY}` }),
  nested(3, { refresh_token: CANARY }),
  nested(5, { privateKey: CANARY }),
  `5" pipe {"password":"${CANARY}"}`,
  String.raw`see {"pass\u0077ord":"${CANARY}"}`,
  `{'password': '${CANARY}'}`,
  `{password: "${CANARY}"}`,
  `:token => "${CANARY}"`,
  `https://user:${CANARY}@host/path`,
  `postgres://u:p@${CANARY}@host:5432/db`,
  `redis://:${CANARY}@host`,
  `https://${CANARY}@github.com/a/b`,
  `mongodb+srv://u:a/${CANARY}@host/db`,
  `https://host/p?access_token=${CANARY}&x=1`,
  `https://host/p?x=1&code=${CANARY}#y`,
  `https://host/p?key=${CANARY}`,
  `https://host/p?X-Amz-Signature=${CANARY}`,
  `https://host/cb#id_token=${CANARY}`,
  `grant_type=x&client_secret=${CANARY}&b=2`,
  `user%5Bpassw%6Frd%5D=${CANARY}`,
  `Authorization: Digest username="u", response="${CANARY}"`,
  `Bearer ${CANARY}`,
  `Basic ${CANARY}`,
  `Set-Cookie: sid=${CANARY}; Path=/`,
  `X-Api-Key: ${CANARY}`,
  `password: ${CANARY}`,
  `API key: ${CANARY}`,
  `export API_KEY=${CANARY}`,
  `DB_PASS='a ${CANARY}'`,
  `aws_secret_access_key = ${CANARY}`,
  `Server=h;Password=${CANARY};AccountKey=${CANARY}==`,
  `mysql --password ${CANARY} --api-key "x ${CANARY}"`,
  `<password>${CANARY}</password>`,
  `-----BEGIN RSA PRIVATE KEY-----\nx\n\n${CANARY}\n-----END RSA PRIVATE KEY-----`,
  `-----BEGIN PRIVATE KEY-----\\n${CANARY}`,
  `ghp_abcdefghijklmnop${CANARY}`,
  Buffer.from(JSON.stringify({ password: CANARY })).toString('base64'),
];

const HARMLESS = [
  'the time is 12:30, keys: 3, public_key: abc',
  'https://host:8080/@scope/x and https://medium.com/@user?x=1 from ssh://git@github.com/x',
  'Bearer tokens are required. Basic setup. decode=1, estate=2, a@b.c',
  'he said "hello: world" and left: it\'s C:\\tokens',
  'name: foo\nvalue: bar',
  '{"city":"Bern","n":[1,2]}',
  'secret://top and token://a/b1',
];

describe.each([
  ['redactText', redactText],
  ['redactContent', redactContent],
])('%s', (_name, redacted) => {
  it.each(SECRETS)('redacts %s', (text) => {
    const shown = redacted(text);
    expect(shown).not.toContain('7f3a91c0');
    expect(shown).toContain('[redacted]');
    expect(redacted(shown)).toBe(shown);
  });

  it.each(HARMLESS)('leaves %s unchanged', (text) => {
    expect(redacted(text)).toBe(text);
  });
});

describe('redactContent', () => {
  it('keeps what surrounds a secret', () => {
    expect(
      redactContent(`a {"token":"${CANARY}","b":{"c":"x"}} https://u:${CANARY}@host/p?a=1&code=${CANARY}&b=2`),
    ).toBe('a {"token":"[redacted]","b":{"c":"x"}} https://[redacted]@host/p?a=1&code=[redacted]&b=2');
  });

  it.each([
    ['a line', `user: a\npassword: x ${CANARY}\nhost: b`, 'user: a\npassword: [redacted]\nhost: b'],
    ['a block', `a:\n  key_file: x\n  private_key: |\n    ${CANARY}\n    ${CANARY}\n  b: c`, undefined],
    ['a list', `tokens:\n- ${CANARY}\n- ${CANARY}\nb: c`, 'tokens:[redacted]\nb: c'],
    ['a member that a sibling names', `- name: DB_PASSWORD\n  value: ${CANARY}\n- name: A\n  value: b`, undefined],
  ])('redacts %s of YAML', (_what, text, expected) => {
    const shown = redactContent(text);
    expect(shown).not.toContain('7f3a91c0');
    expect(shown.split('\n').at(-1)).toBe(text.split('\n').at(-1));
    if (expected !== undefined) expect(shown).toBe(expected);
  });
});

describe('redactText', () => {
  it.each([
    'eyJ-',
    'eyJ-vmcp-',
    'vmcp-',
    '__Host-vmcp-',
    'vac_',
    'vac_-vrt_-',
    'cookie:',
    'cookie   ',
    'set-cookie"',
    'Bearer ',
    'Bearer  a ',
    'basic\t',
    'a_token',
    'token_',
    'a-token-',
    '"token"  ',
    '"code":',
    '"code":"',
    'state=',
    '=',
    '"',
    ' ',
    "'",
    ':',
    '":',
    '\\":',
    '\\"',
    'token:{',
    '"key":{',
    'name: token value: ',
    '-----BEGIN PRIVATE KEY',
    'a://',
    'a://b:c',
    'a://b@',
    '<token>',
    '--token "',
    'token:\n ',
    'token:\n-',
    "token='",
    'glpat-',
    'API key',
    '%',
  ])('takes linear time for a text that repeats %j', (piece) => {
    for (const end of ['', '\n', '!']) {
      const text = `token @ ${piece.repeat(LENGTH / piece.length)}${end}`; // the start leads to all patterns
      const startedAt = process.threadCpuUsage();
      redactText(text);
      redactContent(text);
      expect(process.threadCpuUsage(startedAt).user / 1_000).toBeLessThan(500);
    }
  });
});

describe('redact', () => {
  it('truncates long values and states their length', () => {
    const [value] = redact([`a${'b'.repeat(100_000)}`]) as string[];
    expect(value).toMatch(/^ab{4095}… \(100001 characters\)$/);
  });

  it.each([
    ['a JWT', 'eyJhbGciOiJFUzI1NiJ9.', ''],
    ['a member of JSON', '{"refresh_token":"', '"}'],
    ['a cookie of a page', 'vmcp-flow-x=', ''],
    ['a header', 'Authorization: Bearer ', ''],
  ])('redacts %s that the truncation of a value would split', (_what, before, after) => {
    const secret = 'Zm9v'.repeat(40);
    const value = redact(`${'-'.repeat(4_096 - before.length - 60)} ${before}${secret}${after}`);
    expect(value).not.toContain('Zm9vZm9v');
    expect(value).toContain('[redacted]');
  });
});
