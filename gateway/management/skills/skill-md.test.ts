import { describe, expect, it } from 'vitest';
import { isSkillName } from './reference/install-source.ts';
import { readSkillMd } from './skill-md.ts';

const skillMd = (frontMatter: string, body = '# PDF\n'): string => `---\n${frontMatter}\n---\n${body}`;
const GOOD = 'name: pdf\ndescription: Fills forms.';

describe('isSkillName', () => {
  it.each(['ab', 'a1', 'pdf-forms', '9z', 'a'.repeat(64)])('accepts %s', (name) => {
    expect(isSkillName(name)).toBe(true);
  });

  it.each(['', 'a', 'A1', '-a', 'a-', 'a--b', 'a_b', 'a.b', '..', 'a/b', 'ä1', 'a\n', 'a'.repeat(65)])(
    'rejects %j',
    (name) => {
      expect(isSkillName(name)).toBe(false);
    },
  );
});

describe('readSkillMd', () => {
  it('returns the facts of the front matter', () => {
    const text = skillMd(`${GOOD}
version: 1.0
license: MIT
allowed-tools: Read Write
metadata:
  author: Ann
  tags: forms, office files
requires:
  - git://example.com/team/skills#fonts
  - ghcr.io/team/ocr:1`);
    expect(readSkillMd(text)).toEqual({
      document: {
        metadata: {
          name: 'pdf',
          version: '1.0',
          description: 'Fills forms.',
          author: 'Ann',
          tags: ['forms', 'office files'],
        },
        requires: ['git://example.com/team/skills#fonts', 'ghcr.io/team/ocr:1'],
        license: 'MIT',
        body: '# PDF\n',
      },
      errors: [],
      warnings: [],
    });
  });

  it.each([
    ['requires: a/b c/d', ['a/b', 'c/d']],
    ['requires: a/b, c/d', ['a/b', 'c/d']],
    ['com.example.requires: [a/b, a/b]', ['a/b']],
    ['not-requires: a/b', []],
  ])('reads the dependencies of %j', (line, requires) => {
    expect(readSkillMd(skillMd(`${GOOD}\n${line}`)).document?.requires).toEqual(requires);
  });

  it('reads Windows line breaks and a byte order mark', () => {
    const text = `\uFEFF${skillMd(GOOD).replaceAll('\n', '\r\n')}`;
    expect(readSkillMd(text)).toMatchObject({ document: { metadata: { name: 'pdf' } }, errors: [] });
  });

  it.each([
    ['', 'must start with YAML front matter'],
    ['# PDF', 'must start with YAML front matter'],
    ['---\nname: pdf\n', 'must start with YAML front matter'],
    [skillMd('name: [pdf'), 'not valid YAML'],
    [skillMd('name: a1\nname: b2'), 'not valid YAML'],
    [skillMd('- pdf'), 'not a map'],
    [skillMd(''), 'not a map'],
    [skillMd('a: &x 1\nb: *x'), 'aliases'],
    [skillMd(`a: ${'x'.repeat(64 * 1024)}`), 'more than 64 KiB'],
    [skillMd(GOOD) + '\n'.repeat(1024 * 1024), 'larger than 1 MiB'],
    [skillMd(`${GOOD}\nmetadata: { a: b, a: c }`), 'DUPLICATE_KEY'],
  ])('returns one error and no document for %.40j', (text, message) => {
    expect(readSkillMd(text)).toEqual({
      document: undefined,
      errors: [expect.stringContaining(message)],
      warnings: [],
    });
  });

  it.each([
    ['Latin-1', Buffer.from(skillMd(`${GOOD}\nauthor: J\u00FCrg`), 'latin1')],
    ['a damaged character', Buffer.concat([Buffer.from(skillMd(GOOD)), Buffer.from([0xc3])])],
    ['an overlong form', Buffer.concat([Buffer.from(skillMd(GOOD)), Buffer.from([0xc0, 0xaf])])],
    ['a surrogate', Buffer.concat([Buffer.from(skillMd(GOOD)), Buffer.from([0xed, 0xa0, 0x80])])],
    ['UTF-16 with a mark', Buffer.from(`\uFEFF${skillMd(GOOD)}`, 'utf16le')],
    ['UTF-16', Buffer.from(skillMd(GOOD), 'utf16le')],
    ['a NUL character', Buffer.from(skillMd(GOOD, 'a\0b'))],
  ])('row 109: reports %s as not UTF-8', (_, bytes) => {
    const errors = ['SKILL.md is not UTF-8: save it in that encoding'];
    expect(readSkillMd(bytes)).toEqual({ document: undefined, errors, warnings: [] });
  });

  it('reads bytes as it reads text, and looks at their number first', () => {
    const text = `\uFEFF${skillMd(`${GOOD}\nauthor: J\u00FCrg`)}`;
    expect(readSkillMd(Buffer.from(text))).toEqual(readSkillMd(text));
    const long = Buffer.concat([Buffer.from(skillMd(GOOD)), Buffer.alloc(1024 * 1024, 0xc3)]);
    expect(readSkillMd(long).errors).toEqual([expect.stringContaining('larger than 1 MiB')]);
  });

  it.each([
    ['description: x', 'name is missing'],
    ['name: PDF\ndescription: x', 'name must have 2 to 64'],
    ['name: pdf', 'description is missing'],
    [`name: pdf\ndescription: ${'x'.repeat(1025)}`, 'description is longer than 1024'],
    [`${GOOD}\ncompatibility: ${'x'.repeat(501)}`, 'compatibility is longer than 500'],
    [`${GOOD}\nrequires: Python 3.10, ffmpeg!`, 'requires: "Python 3.10" names no skill'],
    [
      `${GOOD}\nrequires: [${Array.from({ length: 101 }, (_, index) => `a/b${String(index)}`).join()}]`,
      'more than 100',
    ],
  ])('reports the error of %.40j', (frontMatter, message) => {
    expect(readSkillMd(skillMd(frontMatter)).errors).toEqual([expect.stringContaining(message)]);
  });

  it('accepts values at their limits', () => {
    const requires = Array.from({ length: 100 }, (_, index) => `a/b${String(index)}`).join();
    const text = `name: pdf\ndescription: ${'ü'.repeat(1024)}\ncompatibility: ${'x'.repeat(500)}\nrequires: [${requires}]`;
    expect(readSkillMd(skillMd(text)).errors).toEqual([]);
  });

  it('row 106: warns of text that people cannot see and agents read', () => {
    const warnings = ['SKILL.md has invisible characters: remove them'];
    for (const hidden of ['\u{E0041}\u{E0042}', '\u202E', '\u200B', '\u009B']) {
      expect(readSkillMd(skillMd(GOOD, `a${hidden}b`)).warnings).toEqual(warnings);
    }
    expect(readSkillMd(skillMd(GOOD, '\tمی\u200Cخواهم 👩\u200D👧\r\n')).warnings).toEqual([]);
  });

  it('warns of commas in allowed-tools and of a long file', () => {
    const text = skillMd(`${GOOD}\nallowed-tools: Read,Write`, 'x\n'.repeat(500));
    expect(readSkillMd(text).warnings).toEqual([
      'SKILL.md: allowed-tools: separate with spaces',
      'SKILL.md has 505 lines: move details to other files',
    ]);
    expect(readSkillMd(skillMd(GOOD, 'x\n'.repeat(496))).warnings).toEqual([]);
  });

  it.each([
    ['Use when: the user asks', 'Use when: the user asks'],
    ['`pdf` tools', '`pdf` tools'],
    ['**Bold** text', '**Bold** text'],
    ['*emphasis*', '*emphasis*'],
    ['[PDF] forms', '[PDF] forms'],
    ['{name} forms', '{name} forms'],
    ['@team: forms', '@team: forms'],
    ['"Fill" forms', '"Fill" forms'],
    ['%d forms', '%d forms'],
    ['first line\n  Use when: asked', 'first line Use when: asked'],
    ['first line\nat the margin', 'first line at the margin'],
    ['\n  Use when: asked', 'Use when: asked'],
    ["it's: ok", "it's: ok"],
  ])('reads the description %j as text, with a warning', (value, description) => {
    const { document, errors, warnings } = readSkillMd(skillMd(`name: pdf\ndescription: ${value}\nlicense: MIT`));
    expect(document?.metadata).toMatchObject({ name: 'pdf', description });
    expect([document?.license, errors]).toEqual(['MIT', []]);
    expect(warnings).toEqual([expect.stringMatching(/^SKILL.md: line 3: description .* quotes$/u)]);
  });

  it('reads other values that are not valid YAML as text, with a warning', () => {
    const { document, errors, warnings } = readSkillMd(skillMd(`argument-hint: [file] [page]\n${GOOD}`));
    expect([document?.metadata.name, errors]).toEqual(['pdf', []]);
    expect(warnings).toEqual([expect.stringContaining('line 2: argument-hint')]);
  });

  it('keeps a field named __proto__ as a field', () => {
    const text = skillMd('__proto__: { name: other }\nargument-hint: [a] [b]\ndescription: x');
    expect(readSkillMd(text).errors).toEqual([expect.stringContaining('name')]);
    const twice = skillMd(`__proto__: a\n__proto__: [a] [b]\n${GOOD}`);
    expect(readSkillMd(twice).errors).toEqual([expect.stringContaining('line 3: the key __proto__ is there twice')]);
  });

  it.each([
    [`${GOOD}\nrequires: [a/b`, 'line 4: requires: correct it'],
    [`${GOOD}\nmetadata:\n\tauthor: Ann`, 'line 4: metadata: indent with spaces'],
    [`${GOOD}\nmetadata: { a: b, a: c }`, 'line 4: metadata: it has a key twice'],
    [`${GOOD}\nname: other`, 'line 4: the key name is there twice'],
    ['name: [pdf\ndescription: x', 'line 2: name: correct it'],
    ['hello\nname: [pdf', 'line 2: write a field as "name: value"'],
  ])('names line, key and remedy of %j', (frontMatter, message) => {
    expect(readSkillMd(skillMd(frontMatter)).errors).toEqual([expect.stringContaining(message)]);
  });

  it('accepts metadata with other values than texts, with a warning', () => {
    const { document, errors, warnings } = readSkillMd(skillMd(`${GOOD}\nmetadata: { author: Ann, a: { b: c } }`));
    expect([document?.metadata.author, errors]).toEqual(['Ann', []]);
    expect(warnings).toEqual([expect.stringContaining('metadata maps names to texts')]);
  });
});
