import { expect, it } from 'vitest';
import { matchingEntries, packageOf } from './registry-entry.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const entry = (...packages: object[]) => ({ namespace: 'io.github.team', name: 'pdf', packages });

it.each([
  [
    [
      { registryType: 'git', url: 'https://h/a/b' },
      { registryType: 'oci', identifier: 'ghcr.io/t/pdf:1' },
    ],
    'oci',
  ],
  [
    [
      { registryType: 'oci', identifier: '' },
      { registryType: 'git', url: 'https://h/a/b.git' },
    ],
    'git',
  ],
])('prefers a usable OCI package', (packages, kind) => {
  expect(packageOf(entry(...packages)).kind).toBe(kind);
});

it('pins the digest, the commit and the folder of a package', () => {
  expect(packageOf(entry({ registryType: 'oci', identifier: 'ghcr.io/t/pdf:1', digest: DIGEST }))).toMatchObject({
    digest: DIGEST,
  });
  const git = { registryType: 'git', url: 'https://h/a/b', ref: 'refs/heads/main', subfolder: './skills/pdf/' };
  expect(packageOf(entry(git))).toEqual({
    kind: 'git',
    host: 'h',
    repository: 'a/b',
    ref: 'main',
    folder: 'skills/pdf',
  });
  expect(packageOf(entry({ ...git, commit: 'c'.repeat(40) }))).toMatchObject({ ref: 'c'.repeat(40) });
});

it('rejects an entry without a usable package', () => {
  for (const packages of [
    [],
    [{ registryType: 'npm', identifier: 'x' }],
    [{ registryType: 'git', url: 'file:///x' }],
  ]) {
    expect(() => packageOf(entry(...packages))).toThrow('names no package');
  }
});

it('matches names without regard to case, and the namespace exactly', () => {
  const entries = [entry(), { ...entry(), namespace: 'other' }, { ...entry(), name: 'ocr' }];
  expect(matchingEntries(entries, { name: 'PDF' })).toHaveLength(2);
  expect(matchingEntries(entries, { name: 'pdf', namespace: 'other' })).toEqual([entries[1]]);
  expect(matchingEntries(entries, { name: 'pd' })).toEqual([]);
});
