import { expect, it } from 'vitest';
import { collectSkills, type DownloadedSkill } from './collect-skills.ts';

/** Returns a source of skills from the references that each needs. The name of a skill is its reference without `@...`. */
const sourceOf = (needs: Readonly<Record<string, readonly string[]>>) => {
  const downloads: string[] = [];
  const download = async (source: string, isDependency: boolean): Promise<DownloadedSkill> => {
    downloads.push(`${source}${isDependency ? '' : ' asked'}`);
    return {
      metadata: { name: source.replace(/@.*/u, ''), version: '', description: '', author: '' },
      requires: needs[source] ?? [],
      folder: `/${source}`,
      bytes: 500 * 1024 * 1024 * Number(source.startsWith('large')),
      contentDigest: source,
      reference: `pinned ${source}`,
      digest: source,
    };
  };
  return { download, downloads };
};

it('returns dependencies first, each once', async () => {
  const { download, downloads } = sourceOf({ pdf: ['ocr', 'fonts'], ocr: ['fonts'] });
  const skills = await collectSkills('pdf', download);
  expect(skills.map(({ metadata, dependencies }) => [metadata.name, ...dependencies.map(({ name }) => name)])).toEqual([
    ['fonts'],
    ['ocr', 'fonts'],
    ['pdf', 'ocr', 'fonts'],
  ]);
  expect(skills[1]?.dependencies).toEqual([{ name: 'fonts', reference: 'pinned fonts', digest: 'fonts' }]);
  expect(downloads).toEqual(['pdf asked', 'ocr', 'fonts']);
});

it.each([
  [{ pdf: ['pdf'] }, 'pdf needs pdf'],
  [{ pdf: ['ocr'], ocr: ['fonts'], fonts: ['pdf'] }, 'pdf needs ocr needs fonts needs pdf'],
  [{ pdf: ['ocr'], ocr: ['pdf@2'] }, 'pdf needs ocr needs pdf'],
])('rejects the circle %j', async (needs, message) => {
  await expect(collectSkills('pdf', sourceOf(needs).download)).rejects.toThrow(message);
});

it('rejects two contents of one name', async () => {
  const needs = { pdf: ['ocr', 'fonts@1'], ocr: ['fonts@2'] };
  await expect(collectSkills('pdf', sourceOf(needs).download)).rejects.toThrow(
    'two different skills have the name "fonts"',
  );
});

it('row 108: stops after 1 GiB', async () => {
  const large = Array.from({ length: 9 }, (_, index) => `large${String(index)}`);
  const { download, downloads } = sourceOf({ pdf: large });
  await expect(collectSkills('pdf', download)).rejects.toThrow(
    '"pdf" and the skills that it needs have more than 1 GiB',
  );
  expect(downloads).toHaveLength(4);
  expect(await collectSkills('ocr', sourceOf({ ocr: ['large1', 'large2'] }).download)).toHaveLength(3);
});

it('accepts 100 dependencies and no more', async () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => `d${String(index)}`);
  expect(await collectSkills('pdf', sourceOf({ pdf: many(100) }).download)).toHaveLength(101);
  await expect(collectSkills('pdf', sourceOf({ pdf: many(101) }).download)).rejects.toThrow('more than 100');
});
