const PATTERN = /^[a-z0-9][a-z0-9-]*[a-z0-9]$/u;
const MAX_LENGTH = 64;

/** Returns true for the name of a skill. Such a name is also a safe name of a folder. */
export const isSkillName = (text: string): boolean =>
  text.length <= MAX_LENGTH && PATTERN.test(text) && !text.includes('--');

/** Rule for the names of skills, as the end of a sentence. */
export const SKILL_NAME_RULE =
  'must have 2 to 64 lower-case letters, digits and single hyphens, and begin and end with a letter or digit';
