import { describe, expect, it } from 'vitest';
import { signingKeyFiles } from './generated-keys.ts';

describe('files of the signing keys', () => {
  it('are below their folder, the signing key first', () => {
    const config = { key_dir: '/keys', signing_key_file: 'new.pem', fallback_key_files: ['old/a.pem', '..b.pem'] };
    expect(signingKeyFiles(config)).toEqual({
      files: ['/keys/new.pem', '/keys/old/a.pem', '/keys/..b.pem'],
      problems: [],
    });
  });

  it('are empty when nothing is configured', () => {
    expect(signingKeyFiles(undefined)).toEqual({ files: [], problems: [] });
  });

  it.each([
    [{}, ['key_dir', 'signing_key_file']],
    [{ key_dir: '/k', fallback_key_files: ['a'] }, ['signing_key_file']],
    [{ key_dir: '/k', signing_key_file: '../a' }, ['signing_key_file']],
    [{ key_dir: '/k', signing_key_file: '/etc/key' }, ['signing_key_file']],
    [{ key_dir: '/k', signing_key_file: 'a/../../b' }, ['signing_key_file']],
    [{ key_dir: '/k', signing_key_file: 'a\0b' }, ['signing_key_file']],
    [
      { key_dir: '/k', signing_key_file: 'a', fallback_key_files: ['b', '..', ''] },
      ['fallback_key_files[1]', 'fallback_key_files[2]'],
    ],
    [{ key_dir: '/k', signing_key_file: 'a', fallback_key_files: ['a'] }, ['fallback_key_files']],
    [{ key_dir: '/k', signing_key_file: 'a', fallback_key_files: ['b', 'c', 'd', 'e', 'f'] }, ['fallback_key_files']],
  ])('%j is a problem', (config, paths) => {
    const { files, problems } = signingKeyFiles(config);
    expect(files).toEqual([]);
    expect(problems.map(({ path }) => path)).toEqual(paths.map((path) => `signing_key_config.${path}`));
  });

  it('are at most five', () => {
    const config = { key_dir: '/k', signing_key_file: 'a', fallback_key_files: ['b', 'c', 'd', 'e'] };
    expect(signingKeyFiles(config).files).toHaveLength(5);
  });
});
