import { expect, it } from 'vitest';
import { checkSkill } from './check-folder.ts';

const skillMd = '---\nname: pdf\ndescription: Fills forms.\n---\n# PDF\n';
const GOOD = { name: 'pdf', links: [], skillMd };

it('accepts a skill', () => {
  expect(checkSkill(GOOD)).toEqual({ valid: true });
});

it('reports a missing SKILL.md alone', () => {
  expect(checkSkill({ ...GOOD, skillMd: undefined, links: ['a'] })).toEqual({
    valid: false,
    errors: ['SKILL.md is missing'],
  });
});

it('reports symbolic links, also in place of SKILL.md', () => {
  expect(checkSkill({ ...GOOD, links: ['scripts/run.sh'] }).errors).toEqual([
    'scripts/run.sh is a symbolic link: replace it by a file or a folder',
  ]);
  expect(checkSkill({ ...GOOD, skillMd: undefined, links: ['SKILL.md'] }).errors).toEqual([
    'SKILL.md is a symbolic link: replace it by a file or a folder',
  ]);
});

it('reports a name that differs from the name of the folder', () => {
  expect(checkSkill({ ...GOOD, name: 'forms' }).errors).toEqual([
    'SKILL.md: name "pdf" is not the name of the folder, "forms"',
  ]);
});

it('keeps warnings apart from errors', () => {
  const text = skillMd.replace('---\n#', 'allowed-tools: Read,Write\n---\n#');
  expect(checkSkill({ ...GOOD, skillMd: text })).toEqual({
    valid: true,
    warnings: ['SKILL.md: allowed-tools: separate with spaces'],
  });
});
