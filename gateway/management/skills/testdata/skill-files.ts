/** Returns the files of a skill. */
export const skillFiles = (
  name: string,
  { version, requires = [], body = '# Skill\n' }: { version?: string; requires?: readonly string[]; body?: string } = {},
): Record<string, string> => ({
  'SKILL.md': [
    '---',
    `name: ${name}`,
    `description: Does ${name}.`,
    ...(version === undefined ? [] : [`version: ${version}`]),
    'metadata: { author: Ann, tags: "office, forms" }',
    ...(requires.length === 0 ? [] : ['requires:', ...requires.map((each) => `  - ${each}`)]),
    '---',
    body,
  ].join('\n'),
  'scripts/run.sh': `run ${name}`,
});
