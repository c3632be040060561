import { describe, expect, it } from 'vitest';
import { foldedName, leftOutOf, entryNameFault } from './entry-name.ts';

describe('row 105: the name of a file in a skill', () => {
  it.each([
    '.git',
    '.GIT',
    '.Git',
    '.git.',
    '.git ',
    '.git. .',
    '.git::$INDEX_ALLOCATION',
    '.git:x',
    '.g\u200Cit',
    '\uFEFF.git',
    '.gi\u202Et',
    '.g\u00ADit',
    '.git\u{E0001}',
    '\uFF0Egit',
    '.\uFF47\uFF49\uFF54',
    '.g\u2170t',
    '.g\uFE0Fit',
  ])('is refused as a spelling of .git: %j', (name) => {
    expect(entryNameFault(name)).toContain('git would obey');
  });

  it.each([
    'git~1',
    'GIT~1',
    'gitmod~1',
    'GI7EBA~1',
    'claude~2.md',
    'con',
    'NUL.md',
    'com1.txt',
    'aux ',
    'a.',
    'a ',
    'SKILL.md:x',
  ])('is refused when Windows reads another one: %j', (name) => {
    expect(entryNameFault(name)).toContain('Windows');
  });

  it.each([
    '',
    '.',
    '..',
    'a\\b',
    'a\nb',
    'a\u0085b',
    'a\u202Eb',
    'a\u2066b',
    'a\u061Cb',
    'a\u200Bb',
    'a\u2028b',
    'a\uFFFDb',
  ])('is refused when it is no plain name: %j', (name) => {
    expect(entryNameFault(name)).toBeDefined();
  });

  it.each([
    'SKILL.md',
    'LICENSE.txt',
    'git',
    'git.md',
    'digit',
    '.gitx',
    'com.md',
    'console.md',
    'v1~draft.md',
    'a b',
    'straße',
    '日本語.md',
    'می\u200Cخواهم.md',
    'x'.repeat(255),
  ])('is accepted: %j', (name) => {
    expect(entryNameFault(name)).toBeUndefined();
  });

  it.each([
    ['a', 'A'],
    ['é', 'e\u0301'],
    ['É', 'e\u0301'],
    ['ß', 'SS'],
    ['ſ', 's'],
    ['\u212A', 'k'],
    ['ﬁ', 'fi'],
    ['a\u200Db', 'ab'],
    ['a.', 'a'],
  ])('is one with its other spelling: %j and %j', (one, two) => {
    expect(foldedName(one)).toBe(foldedName(two));
  });
});

describe('row 105: a path of a skill', () => {
  it.each([
    ['.envrc', '.envrc'],
    ['.vscode/tasks.json', '.vscode/'],
    ['scripts/.husky/pre-commit', 'scripts/.husky/'],
    ['.claude/settings.json', '.claude/'],
    ['.mcp.json', '.mcp.json'],
    ['assets/.npmrc', 'assets/.npmrc'],
    ['\u2024envrc', '\u2024envrc'],
    ['a/.b/.c', 'a/.b/'],
  ])('is left out when a part is hidden: %s', (path, part) => {
    expect(leftOutOf(path)).toEqual({ path: part, reason: 'its name is hidden' });
  });

  it.each([
    'CLAUDE.md',
    'claude.MD',
    'references/AGENTS.md',
    'AGENTS.override.md',
    'CLAUDE.local.md',
    'Agent.md',
    'GEMINI.md',
    'copilot-instructions.md',
    'a/go.instructions.md',
    'opencode.jsonc',
    'CLAUD\uFF25.md',
    'references/SKILL.md',
    'hooks/hooks.json',
    'Desktop.ini',
    'nested/skill.md',
  ])('is left out when tools load it by themselves: %s', (path) => {
    expect(leftOutOf(path)).toEqual({ path, reason: 'agents or other tools load it by themselves' });
  });

  it('is left out with the folder of such a name', () => {
    expect(leftOutOf('AGENTS.md/x')?.path).toBe('AGENTS.md/');
  });

  it.each([
    'SKILL.md',
    'scripts/a.sh',
    'references/claude-api.md',
    'agents/openai.yaml',
    'assets/a.b.c',
    'hooks/run.sh',
    'instructions.md',
    'my-agents.md',
  ])('is installed: %s', (path) => {
    expect(leftOutOf(path)).toBeUndefined();
  });
});
