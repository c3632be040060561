import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadManifests } from './load.ts';

const samples = new URL('../../../crds/kinds/samples/', import.meta.url).pathname;
const files = (folder: string) => readdirSync(`${samples}${folder}`).filter((file) => /\.ya?ml$/u.test(file));

/** Expectations in the first comments of an invalid sample. */
function expectation(file: string) {
  const text = readFileSync(file, 'utf8');
  const comment = (name: string) => new RegExp(`^# ${name}: (.*)$`, 'mu').exec(text)?.[1]?.trim();
  return { path: comment('expect'), line: Number(comment('line')), reason: comment('reason') };
}

describe('invalid samples', () => {
  it('number at least sixty', () => {
    expect(files('invalid').length).toBeGreaterThanOrEqual(60);
  });

  it.each(files('invalid'))('%s is rejected with the path and line of its mistake', async (name) => {
    const file = `${samples}invalid/${name}`;
    const { problems, snapshots } = await loadManifests([file]);
    expect(problems.map(({ path, line, reason, file: place }) => ({ path, line, reason, place }))).toContainEqual({
      ...expectation(file),
      place: file,
    });
    expect([...snapshots.values()].every(({ broken }) => broken.size > 0)).toBe(true);
  });
});

describe('valid samples', () => {
  const accepted = ['valid', 'local'].flatMap((folder) => files(folder).map((name) => `${folder}/${name}`));

  it.each(accepted)('%s is accepted', async (name) => {
    const { problems, objects } = await loadManifests([samples + name]);
    expect(problems).toEqual([]);
    expect(objects.length).toBeGreaterThan(0);
  });
});
