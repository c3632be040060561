import { describe, expect, it } from 'vitest';
import { formatGitReference, gitRefName, parseGitReference } from './git-reference.ts';
import { installSource } from './install-source.ts';
import { formatOciReference, parseOciReference } from './oci-reference.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;

describe('installSource', () => {
  it.each([
    ['pdf', undefined, { kind: 'registry', name: 'pdf' }],
    ['git://example.com/team/skills', undefined, { kind: 'git', host: 'example.com', repository: 'team/skills' }],
    [
      'ghcr.io/team/skills/pdf',
      undefined,
      { kind: 'oci', host: 'ghcr.io', repository: 'team/skills/pdf', tag: 'latest' },
    ],
    ['ghcr.io/team/skills/pdf', '2', { kind: 'oci', host: 'ghcr.io', repository: 'team/skills/pdf', tag: '2' }],
    ['ghcr.io/team/skills/pdf:1', '2', { kind: 'oci', host: 'ghcr.io', repository: 'team/skills/pdf', tag: '1' }],
    [`ghcr.io/t/pdf@${DIGEST}`, '2', { kind: 'oci', host: 'ghcr.io', repository: 't/pdf', digest: DIGEST }],
    [
      'io.github.team/pdf',
      undefined,
      {
        kind: 'oci',
        host: 'io.github.team',
        repository: 'pdf',
        tag: 'latest',
        orElse: { namespace: 'io.github.team', name: 'pdf' },
      },
    ],
    [
      'team/pdf',
      '2',
      {
        kind: 'oci',
        host: 'docker.io',
        repository: 'team/pdf',
        tag: '2',
        orElse: { namespace: 'team', name: 'pdf' },
      },
    ],
    ['localhost:5000/pdf:1', undefined, { kind: 'oci', host: 'localhost:5000', repository: 'pdf', tag: '1' }],
  ])('of %s with version %s', (name, version, expected) => {
    expect(installSource(name, version)).toEqual(expected);
  });

  it.each([
    '',
    'A',
    'a--b',
    'PDF',
    'git://',
    'git://host/repo',
    'https://example.com/a/b',
    'ghcr.io/Team/pdf',
    'a/b:',
    '../x',
    '/a',
    'a/',
  ])('rejects %j', (name) => {
    expect(installSource(name)).toBeUndefined();
  });

  it('rejects a version that cannot be a tag', () => {
    expect(installSource('ghcr.io/team/pdf', 'a b')).toBeUndefined();
  });
});

describe('parseGitReference', () => {
  it.each([
    [
      'git://h.example:8443/a/b/c@v1.2#x/y',
      { host: 'h.example:8443', repository: 'a/b/c', ref: 'v1.2', folder: 'x/y' },
    ],
    ['git://h/a/b.git@feature/x', { host: 'h', repository: 'a/b', ref: 'feature/x' }],
    ['git://h/a/b#.hidden', { host: 'h', repository: 'a/b', folder: '.hidden' }],
  ])('reads %s', (text, expected) => {
    const reference = parseGitReference(text);
    expect(reference).toEqual({ kind: 'git', ...expected });
    expect(reference && parseGitReference(formatGitReference(reference))).toEqual(reference);
  });

  it.each([
    'git://h/a/b@',
    'git://h/a/b#',
    'git://h/a/b@a..b',
    'git://h/a/b@-x',
    'git://h/a/b@x.lock',
    'git://h/a/b@x y',
    'git://h/a/b@x@y',
    'git://h/a/b#x#y',
    'git://h/a/b#../x',
    'git://h/a/b#x/../y',
    'git://h/a/b#/x',
    'git://h/a/b#x/.GIT/y',
    'git://h/a/b#-x',
    'git://h/../b',
    'git://h/-a/b',
    'git://user:password@h/a/b',
    'git://-h/a/b',
    'git://h;x/a/b',
    'https://h/a/b',
    `git://h/a/${'b'.repeat(1024)}`,
  ])('rejects %s', (text) => {
    expect(parseGitReference(text)).toBeUndefined();
  });

  it.each([
    [undefined, 'HEAD'],
    ['main', 'refs/heads/main'],
    ['version2', 'refs/heads/version2'],
    ['v1', 'refs/tags/v1'],
    ['v1.2.3', 'refs/tags/v1.2.3'],
    ['A'.repeat(40), 'a'.repeat(40)],
    ['a'.repeat(39), `refs/heads/${'a'.repeat(39)}`],
  ])('the ref %s is %s', (ref, name) => {
    expect(gitRefName(ref)).toBe(name);
  });
});

describe('parseOciReference', () => {
  it.each([
    ['pdf:1', 'docker.io/library/pdf:1'],
    ['docker.io/pdf', 'docker.io/library/pdf'],
    ['a/b', 'docker.io/a/b'],
    [`127.0.0.1:5000/a/b:t@${DIGEST}`, `127.0.0.1:5000/a/b:t@${DIGEST}`],
  ])('completes %s', (text, full) => {
    const reference = parseOciReference(text);
    expect(reference && formatOciReference(reference)).toBe(full);
  });

  it.each([
    'ghcr.io/a@sha256:1',
    'ghcr.io/a:b:c',
    'ghcr.io/a@x@y',
    'ghcr.io/',
    'gh cr.io/a',
    'ghcr.io/a//b',
    `ghcr.io/${'a'.repeat(256)}`,
  ])('rejects %s', (text) => {
    expect(parseOciReference(text)).toBeUndefined();
  });
});
