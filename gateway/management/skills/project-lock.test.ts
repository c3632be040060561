import { describe, expect, it } from 'vitest';
import { parseLockFile, renderLockFile, updateLockFile, type LockEntry } from './project-lock.ts';

const entry = (name: string, more: Partial<LockEntry> = {}): LockEntry => ({
  name,
  source: name,
  resolvedReference: `ghcr.io/team/${name}@sha256:1`,
  digest: 'sha256:1',
  contentDigest: 'sha256:2',
  ...more,
});

const FOREIGN = `version: 1
skills:
  - name: pdf
    source: team/pdf
    resolvedReference: old
    digest: old
    contentDigest: old
    explicit: true
    provenance:
      signerIdentity: ann
    later: [1]
plugins:
  - name: other
`;

describe('a lock file', () => {
  it('is sorted by name', () => {
    const file = updateLockFile(parseLockFile(''), [entry('b'), entry('a', { unsigned: true })], new Set());
    expect(renderLockFile(file)).toBe(`version: 1
skills:
  - name: a
    source: a
    resolvedReference: ghcr.io/team/a@sha256:1
    digest: sha256:1
    contentDigest: sha256:2
    unsigned: true
  - name: b
    source: b
    resolvedReference: ghcr.io/team/b@sha256:1
    digest: sha256:1
    contentDigest: sha256:2
`);
  });

  it('keeps entries and members that this version does not know', () => {
    expect(renderLockFile(parseLockFile(FOREIGN)).replace('[ 1 ]', '[1]')).toContain('plugins:\n  - name: other\n');
    const text = renderLockFile(
      updateLockFile(parseLockFile(FOREIGN), [entry('pdf', { requiredBy: ['x'] })], new Set()),
    );
    expect(parseLockFile(text)).toEqual({
      entries: [{ ...entry('pdf', { requiredBy: ['x'] }), provenance: { signerIdentity: 'ann' }, later: [1] }],
      others: { plugins: [{ name: 'other' }] },
    });
  });

  it('no longer contains removed entries', () => {
    const file = updateLockFile(parseLockFile(FOREIGN), [entry('a')], new Set(['pdf']));
    expect(parseLockFile(renderLockFile(file)).entries).toEqual([entry('a')]);
  });

  it.each([
    ['version: 2', 'the version 2'],
    ['skills: []', 'the version undefined'],
    ['version: 1\nskills: {}', 'a list in "skills"'],
    ['version: 1\nskills: [1]', 'maps in "skills"'],
    ['- 1', 'must hold a map'],
    ['a: [', 'not valid YAML'],
  ])('is rejected: %j', (text, message) => {
    expect(() => parseLockFile(text)).toThrow(message);
  });
});
