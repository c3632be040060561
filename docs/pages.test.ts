import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
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

const MAX_WORDS = 88;
const isGenerated = (page: string): boolean => page.startsWith('reference/');
/** A line that ends a paragraph: empty, or of a table, a heading, a picture or another HTML element. */
const ENDS = /^\s*(?:$|[|#<])/u;
const FENCE = /^\s*(?:```|~~~)/u;
const ITEM = /^\s*(?:[-*+]|\d+[.)])\s/u;

/** Returns `file:line: count` for each paragraph or list item with too many words, code blocks and tables aside. */
function longParagraphs(file: string, text: string): string[] {
  const paragraphs: { line: number; words: number }[] = [];
  let isCode = false;
  let isOpen = false;
  for (const [index, line] of text.split('\n').entries()) {
    const isFence = FENCE.test(line);
    if (isFence) isCode = !isCode;
    if (isFence || isCode || ENDS.test(line)) {
      isOpen = false;
      continue;
    }
    if (!isOpen || ITEM.test(line)) paragraphs.push({ line: index + 1, words: 0 });
    isOpen = true;
    const paragraph = paragraphs.at(-1);
    if (paragraph) paragraph.words += line.trim().split(/\s+/u).length;
  }
  return paragraphs
    .filter(({ words }) => words > MAX_WORDS)
    .map(
      ({ line, words }) => `${file}:${line}: ${words} words, at most ${MAX_WORDS}: lead with the rule, list the rest`,
    );
}

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

  it('have no paragraph of more than 88 words', () => {
    const written = globSync('**/*.md', { cwd: DOCS }).filter((page) => !isGenerated(page));
    const files = [...written, '../README.md', '../CONTRIBUTING.md'];
    expect(files.flatMap((page) => longParagraphs(normalize(join('docs', page)), read(page)))).toEqual([]);
  });
});

describe('the page on the architecture', () => {
  const root = join(DOCS, '..');
  const named = Array.from(
    read('architecture.md').matchAll(/`((?:crds|gateway|operator)\/[\w/.-]+)`/gu),
    ([, path = '']) => path,
  );

  it('names files and folders that exist', () => {
    expect(named.length).toBeGreaterThan(60);
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it('says what each room is for', () => {
    const rooms = ['gateway', 'operator'].flatMap((folder) =>
      readdirSync(join(root, folder), { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => `${folder}/${name}`),
    );
    expect(rooms.filter((room) => !named.includes(room))).toEqual([]);
  });
});

describe('the README', () => {
  it('names the version of this repository', () => {
    const { version } = JSON.parse(read('../package.json')) as { version: string };
    expect(read('../README.md')).toContain(`\nVersion ${version}, `);
  });
});
