import { describe, expect, it } from 'vitest';
import { argumentWarnings, isSecretName } from './secret-text.ts';

it.each([
  'GITHUB_PERSONAL_ACCESS_TOKEN',
  'OPENAI_API_KEY',
  'apiKey',
  'PGPASSWORD',
  'DB_PASSWD',
  'X-Api-Key',
  'Authorization',
  'CLIENT_SECRET',
  'SENTRY_DSN',
  'token',
])('%s names a secret', (name) => {
  expect(isSecretName(name)).toBe(true);
});

it.each([
  'MEMORY_FILE_PATH',
  'LOG_LEVEL',
  'TZ',
  'KEYBOARD',
  'MONKEY',
  'AUTHOR',
  'TOKENIZER',
  'PATH',
  'X-Team',
  'TOKEN_FILE',
])('%s names no secret', (name) => {
  expect(isSecretName(name)).toBe(false);
});

describe('argumentWarnings', () => {
  it.each([
    [['--api-key=abc'], 'argument 1 (--api-key) looks like a secret'],
    [['--verbose', '--token', 'abc'], 'argument 3 (--token) looks like a secret'],
    [['ghp_abcdefabcdef'], 'argument 1 looks like a secret'],
    [['--url', 'postgresql://me:hunter2@db/x'], 'argument 2 looks like a secret'],
    [['--header', 'Authorization: Bearer abc'], 'argument 2 (Authorization) looks like a secret'],
    [['--id', '0123456789abcdef0123456789abcdef'], 'argument 2 looks like a secret'],
    [['${workspaceFolder}'], 'argument 1 contains ${workspaceFolder}, which vmcp does not replace'],
    [['--token=${input:t}'], 'argument 1 contains ${input:t}'],
    [['C:\\Users\\me'], 'argument 1 is a Windows path'],
    [['\\\\share\\x'], 'argument 1 is a Windows path'],
  ])('%j', (args, message) => {
    const warnings = argumentWarnings(args);
    expect(warnings).toEqual([expect.stringContaining(message)]);
    expect(warnings[0]).not.toMatch(/abc\b|hunter2|ghp_|0123/u);
  });

  it.each([
    [['/home/me/a-rather-long-path/with-many-parts-1/and-more']],
    [['--token']],
    [['--api-key=']],
    [['--token-limit', '500']],
    [['stdio', '--verbose', '--port=3000', 'http://127.0.0.1:3000/']],
  ])('says nothing about %j', (args) => {
    expect(argumentWarnings(args)).toEqual([]);
  });
});
