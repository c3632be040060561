import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { testScope } from '../../../e2e/harness/scope.ts';
import { isGenuine, issueToken } from '../core/opaque-token.ts';
import { HmacSecrets } from './secrets.ts';
import { folder, recordingLog, stillClock } from './testdata/files.ts';

const OLD = randomBytes(32);
const NEW = randomBytes(48);
// Not at the end, where it would be removed.
OLD[31] = NEW[47] = 1;

function secretsIn(...contents: (string | Uint8Array)[]) {
  const dir = folder(testScope());
  const files = contents.map((content, index) => dir.write(String(index), content));
  const { log, lines } = recordingLog();
  const clock = stillClock();
  return { secrets: new HmacSecrets({ files, log, now: clock.now }), dir, lines, ...clock };
}

const ringOf = (...contents: (string | Uint8Array)[]): Buffer[] =>
  secretsIn(...contents)
    .secrets.ring()
    .map((secret) => Buffer.from(secret));

const codeBy = (secrets: HmacSecrets): string => issueToken('code', randomBytes(32), secrets.ring()).reveal();

describe('HMAC secrets', () => {
  it('are the contents of the files, in order', () => {
    const { secrets, lines } = secretsIn(NEW, OLD);
    expect(secrets.ephemeral).toBe(false);
    expect(ringOf(NEW, OLD)).toEqual([NEW, OLD]);
    expect(lines).toEqual([]);
  });

  it('may be binary', () => {
    const bytes = new Uint8Array(256).map((_, index) => index);
    expect(ringOf(bytes)).toEqual([Buffer.from(bytes)]);
  });

  it.each([
    ['\n', ''],
    ['\r\n', ''],
    ['\n\n', '\n'],
    [' \n', ' '],
  ])('are read without one trailing line break, with a warning: %j', (end, left) => {
    const text = 'an-example-of-a-long-enough-secret!';
    const { secrets, lines, dir } = secretsIn(text + end);
    expect(Buffer.from(secrets.ring()[0]).toString()).toBe(text + left);
    expect(lines).toEqual([
      { level: 'warn', message: expect.stringContaining('line break'), facts: { file: dir.path('0') } },
    ]);
  });

  it.each([
    ['31 bytes', OLD.subarray(1), 'has 31 bytes'],
    ['31 bytes and a line break', Buffer.concat([OLD.subarray(1), Buffer.from('\n')]), 'has 31 bytes'],
    ['empty', '', 'has 0 bytes'],
    ['one repeated byte', 'a'.repeat(64), 'all bytes of the secret are the same'],
    ['zeros', new Uint8Array(32), 'all bytes of the secret are the same'],
  ])('are rejected: %s', (_what, content, message) => {
    expect(() => secretsIn(content)).toThrow(message);
    expect(() => secretsIn(NEW, content)).toThrow(message);
  });

  it('cause a warning when they look easy to guess', () => {
    expect(secretsIn('abcabcab'.repeat(8)).lines).toMatchObject([
      { level: 'warn', message: expect.stringContaining('guess') },
    ]);
  });

  it('report the name of a missing file', () => {
    const file = folder(testScope()).path('absent');
    expect(() => new HmacSecrets({ files: [file], log: recordingLog().log })).toThrow(
      `${file} cannot be read (ENOENT)`,
    );
  });
});

describe('secrets of the process', () => {
  it('end with the process, with a warning', () => {
    const { log, lines } = recordingLog();
    const [before, after] = [new HmacSecrets({ files: [], log }), new HmacSecrets({ files: [], log })];
    expect(before.ephemeral).toBe(true);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatchObject({ level: 'warn', message: expect.stringContaining('no HMAC secret') });
    const code = codeBy(before);
    expect(isGenuine('code', code, before.ring())).toBe(true);
    expect(isGenuine('code', code, after.ring())).toBe(false);
  });
});

describe('a rotation of secrets', () => {
  it('takes effect without a restart: old codes are valid while the old secret is configured', () => {
    const { secrets, dir, pass, lines } = secretsIn(OLD, NEW);
    const ring = secrets.ring();
    const code = codeBy(secrets);
    dir.write('0', NEW);
    dir.write('1', OLD);
    pass(999);
    expect(secrets.ring()).toBe(ring);
    pass(1);
    expect(secrets.ring()).not.toBe(ring);
    expect(isGenuine('code', code, secrets.ring())).toBe(true);
    expect(isGenuine('code', codeBy(secrets), [new Uint8Array(NEW)])).toBe(true);
    dir.write('1', randomBytes(33));
    pass(1_000);
    expect(isGenuine('code', code, secrets.ring())).toBe(false);
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it.each([
    ['short', 'has 5 bytes'],
    [undefined, 'cannot be read (ENOENT)'],
  ])('to %j keeps the previous secrets and logs once', (content, fault) => {
    const { secrets, dir, pass, lines } = secretsIn(OLD);
    const ring = secrets.ring();
    if (content === undefined) rmSync(dir.path('0'));
    else dir.write('0', content);
    for (let round = 0; round < 3; round += 1) {
      pass(1_000);
      expect(secrets.ring()).toBe(ring);
    }
    expect(lines).toEqual([
      { level: 'error', message: expect.any(String), facts: { fault: expect.stringContaining(fault) } },
    ]);
    expect(JSON.stringify(lines)).not.toContain('short');
  });
});
