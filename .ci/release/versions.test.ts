import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { versionProblems } from './versions.ts';

const read = (file: string): string => readFileSync(join(import.meta.dirname, '..', '..', file), 'utf8');
const { version } = JSON.parse(read('package.json')) as { version: string };

describe('versionProblems', () => {
  it('finds the version of the repository in every file', () => {
    expect(versionProblems(`v${version}`, read)).toEqual([]);
  });

  it('names each file with another version', () => {
    const chart = 'charts/vmcp/Chart.yaml';
    const stale = (file: string): string =>
      file === chart ? read(file).replace(`appVersion: ${version}`, 'appVersion: 0.0.9') : read(file);
    expect(versionProblems(`v${version}`, stale)).toEqual([
      `${chart} has the version 0.0.9, and the tag is v${version}: change one of them`,
    ]);
    expect(versionProblems('v99.0.0', read)).toHaveLength(4);
  });

  it.each(['1.2.3', 'v1.2', 'v1.2.3 ', 'latest'])('rejects the tag "%s"', (tag) => {
    expect(versionProblems(tag, read)).toEqual([`${tag} is not a version: name the tag like v1.2.3`]);
  });
});
