import { chmodSync, readFileSync, statSync } from 'node:fs';
import { expect, it } from 'vitest';
import { testScope } from '../../../e2e/harness/scope.ts';
import { generatedKey } from './generated-keys.ts';
import { HmacSecrets } from './secrets.ts';
import { SigningKeys } from './signing-keys.ts';
import { folder, recordingLog } from './testdata/files.ts';

const KINDS = ['signing', 'hmac'] as const;

it.each(KINDS)('a generated %s key is private, usable and the same at the next start', (kind) => {
  const dir = folder(testScope()).path('default%2Ftools');
  const { log, lines } = recordingLog();
  const file = generatedKey(kind, dir, log);
  const content = readFileSync(file, 'utf8');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(dir).mode & 0o777).toBe(0o700);
  expect(generatedKey(kind, dir, log)).toBe(file);
  expect(readFileSync(file, 'utf8')).toBe(content);
  const keys = kind === 'signing' ? new SigningKeys({ files: [file], log }) : new HmacSecrets({ files: [file], log });
  expect(keys.ephemeral).toBe(false);
  expect(lines).toEqual([]);
});

it.each(KINDS)('two folders have different %s keys', (kind) => {
  const dir = folder(testScope());
  const [one, two] = ['a', 'b'].map((name) => readFileSync(generatedKey(kind, dir.path(name), recordingLog().log)));
  expect(one).not.toEqual(two);
});

it.each([
  ['signing', 'signing-key.pem', ''],
  ['signing', 'signing-key.pem', '-----BEGIN PRIVATE KEY-----\nMIGH'],
  ['hmac', 'hmac-secret', ''],
  ['hmac', 'hmac-secret', 'short'],
] as const)('an unusable %s key in %s is replaced, with a warning: %j', (kind, name, content) => {
  const dir = folder(testScope());
  const written = dir.write(name, content);
  chmodSync(written, 0o644);
  const { log, lines } = recordingLog();
  expect(generatedKey(kind, dir.path('.'), log)).toBe(written);
  expect(statSync(written).mode & 0o777).toBe(0o600);
  expect(lines).toMatchObject([{ level: 'warn', facts: { file: written } }]);
  expect(generatedKey(kind, dir.path('.'), log)).toBe(written);
  expect(lines).toHaveLength(1);
});

it('the mode of a key that others can read is corrected', () => {
  const dir = folder(testScope()).path('x');
  const { log } = recordingLog();
  const file = generatedKey('hmac', dir, log);
  chmodSync(file, 0o644);
  generatedKey('hmac', dir, log);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});
