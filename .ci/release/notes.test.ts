import { describe, expect, it } from 'vitest';
import { releaseNotes } from './notes.ts';

const CHANGELOG = `# Changelog

## [Unreleased]

## [0.10.0] - 2026-12-24

### Added

- A tenth thing.

## [0.1.0] - 2026-12-01

### Added

- The first thing, see [the guide](docs/security.md).

[0.1.0]: https://example.com/v0.1.0
`;

describe('releaseNotes', () => {
  it('returns the section of one version', () => {
    expect(releaseNotes(CHANGELOG, '0.10.0')).toBe('### Added\n\n- A tenth thing.');
  });

  it('leaves out the links at the end', () => {
    expect(releaseNotes(CHANGELOG, '0.1.0')).toBe('### Added\n\n- The first thing, see [the guide](docs/security.md).');
  });

  it.each(['0.1', '0.2.0', 'Unreleased'])('finds nothing for %s', (version) => {
    expect(releaseNotes(CHANGELOG, version)).toBeUndefined();
  });
});
