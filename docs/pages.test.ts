import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

const DOCS = import.meta.dirname;
const read = (page: string): string => readFileSync(join(DOCS, page), 'utf8');
const pages = globSync('**/*.md', { cwd: DOCS }).filter((page) => page !== 'README.md');

/** Returns the pages of docs/ that a page links to. */
const linksOf = (page: string): string[] =>
  [...read(page).matchAll(/\]\((?!https?:)([^)#\s]+\.md)/gu)].map(([, link = '']) =>
    normalize(join(dirname(page), link)),
  );

/** Pages that may hold the link to a page of a folder: the list of the folder, or the page that has its name. */
const listsOf = (page: string): string[] => {
  const folder = dirname(page);
  return folder === '.' ? [] : [`${folder}/README.md`, `${folder}.md`].filter((list) => pages.includes(list));
};

describe('the pages of docs/', () => {
  it('are in docs/README.md, or in the list of their folder', () => {
    const listed = new Set(linksOf('README.md'));
    const isListed = (page: string): boolean =>
      listed.has(page) || listsOf(page).some((list) => listed.has(list) && linksOf(list).includes(page));
    expect(pages.length).toBeGreaterThan(40);
    expect(pages.filter((page) => !isListed(page))).toEqual([]);
  });
});

describe('the README', () => {
  it('names the version of this repository', () => {
    const { version } = JSON.parse(read('../package.json')) as { version: string };
    expect(read('../README.md')).toContain(`\nVersion ${version}, `);
  });
});
