import { hasInvisible } from '../../contract/text/printable.ts';
import { decodeUtf8 } from '../../contract/text/utf8.ts';
import { parseFields, type FrontMatter } from './front-matter.ts';
import { installSource, isSkillName, SKILL_NAME_RULE } from './reference/install-source.ts';

/** Name of the file that describes a skill, at the top of its folder. */
export const SKILL_FILE = 'SKILL.md';
/** Maximum number of dependencies of one skill, and of dependencies that one installation adds. */
export const MAX_DEPENDENCIES = 100;

/** Clients load the whole text into their context. */
export const MAX_SKILL_FILE_BYTES = 1024 * 1024;

const MAX_FRONT_MATTER_BYTES = 64 * 1024;
const MAX_DESCRIPTION = 1024;
const MAX_COMPATIBILITY = 500;
const MAX_LINES = 500;

/** Facts of a skill for the answers of the API. */
export interface SkillMetadata {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly author: string;
  readonly tags?: string[];
}

interface SkillDocument {
  readonly metadata: SkillMetadata;
  /** References of the skills that this one needs. */
  readonly requires: readonly string[];
  /** Empty without one. */
  readonly license: string;
  /** Markdown after the front matter. */
  readonly body: string;
}

/** Result of reading a `SKILL.md`. Without readable front matter it has errors and no document. With a document it may also have errors. */
interface SkillReading {
  readonly document: SkillDocument | undefined;
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

/** Reads a `SKILL.md` file: front matter in YAML between two `---` lines, then Markdown, all in UTF-8. */
export function readSkillMd(content: string | Buffer): SkillReading {
  if (Buffer.byteLength(content) > MAX_SKILL_FILE_BYTES) return unreadable('is larger than 1 MiB');
  const text = typeof content === 'string' ? content : decodeUtf8(content);
  if (text === undefined || text.includes('\0')) return unreadable('is not UTF-8: save it in that encoding');
  const parts = splitText(text.replace(/^\uFEFF/u, ''));
  if (parts === undefined) return unreadable('must start with YAML front matter between two "---" lines');
  const [source, body] = parts;
  if (Buffer.byteLength(source) > MAX_FRONT_MATTER_BYTES) return unreadable('has front matter of more than 64 KiB');
  const parsed = parseFields(source);
  if (typeof parsed === 'string') return unreadable(parsed);
  const { fields, faults } = parsed;
  const requires = requiresOf(fields);
  const lines = text.trimEnd().split('\n').length;
  return {
    document: { metadata: metadataOf(fields), requires, license: fieldText(fields, 'license'), body },
    errors: findErrors(fields, requires),
    warnings: [
      ...faults.map((fault) => `${SKILL_FILE}: ${fault}`),
      ...(hasTextsOnly(fields['metadata'])
        ? []
        : [`${SKILL_FILE}: metadata maps names to texts: some clients do not read its other values`]),
      ...(fieldText(fields, 'allowed-tools').includes(',')
        ? [`${SKILL_FILE}: allowed-tools: separate with spaces`]
        : []),
      ...(hasInvisible(text.replaceAll(/\s/gu, '')) ? [`${SKILL_FILE} has invisible characters: remove them`] : []),
      ...(lines > MAX_LINES ? [`${SKILL_FILE} has ${String(lines)} lines: move details to other files`] : []),
    ],
  };
}

const unreadable = (reason: string): SkillReading => ({
  document: undefined,
  errors: [`${SKILL_FILE} ${reason}`],
  warnings: [],
});

/** Returns the front matter and the Markdown. */
function splitText(text: string): [string, string] | undefined {
  const lines = text.split(/\r?\n/u);
  if (lines[0]?.trimEnd() !== '---') return undefined;
  const end = lines.findIndex((line, index) => index > 0 && line.trimEnd() === '---');
  return end === -1 ? undefined : [lines.slice(1, end).join('\n'), lines.slice(end + 1).join('\n')];
}

/** Returns the text of a field; empty when the field is absent or has another type. */
function fieldText(fields: FrontMatter, name: string): string {
  const value = fields[name];
  return typeof value === 'string' ? value.trim() : '';
}

/** Returns the texts of a field that is a list or one text, separated by commas if it has any, else by spaces. */
function textsIn(value: unknown): string[] {
  const parts = typeof value === 'string' ? value.split(value.includes(',') ? ',' : /\s/u) : [value].flat();
  return parts.flatMap((part) => (typeof part === 'string' && part.trim() !== '' ? [part.trim()] : []));
}

/** Vendors write the field with a prefix: `example.requires` is `requires`. */
function requiresOf(fields: FrontMatter): string[] {
  const names = Object.keys(fields).filter((name) => name === 'requires' || name.endsWith('.requires'));
  return [...new Set(names.flatMap((name) => textsIn(fields[name])))];
}

function metadataOf(fields: FrontMatter): SkillMetadata {
  const more = fields['metadata'];
  const extra: FrontMatter = typeof more === 'object' && more !== null ? { ...more } : {};
  const either = (name: string): string => fieldText(fields, name) || fieldText(extra, name);
  const tags = textsIn(fields['tags'] ?? extra['tags']);
  return {
    name: fieldText(fields, 'name'),
    version: either('version'),
    description: fieldText(fields, 'description'),
    author: either('author'),
    ...(tags.length > 0 && { tags }),
  };
}

const noSkill = (name: string): string =>
  `requires: "${name.slice(0, 200)}" names no skill: write git://HOST/OWNER/REPOSITORY#FOLDER, or name programs in compatibility`;

function findErrors(fields: FrontMatter, requires: readonly string[]): string[] {
  const name = fieldText(fields, 'name');
  const description = fieldText(fields, 'description');
  const faults = [
    name === '' && 'name is missing',
    name !== '' && !isSkillName(name) && `name ${SKILL_NAME_RULE}`,
    description === '' && 'description is missing',
    isLonger(description, MAX_DESCRIPTION) && `description is longer than ${String(MAX_DESCRIPTION)} characters`,
    isLonger(fieldText(fields, 'compatibility'), MAX_COMPATIBILITY) &&
      `compatibility is longer than ${String(MAX_COMPATIBILITY)} characters`,
    ...requires
      .filter((name) => installSource(name) === undefined)
      .slice(0, 1)
      .map(noSkill),
    requires.length > MAX_DEPENDENCIES && `requires has more than ${String(MAX_DEPENDENCIES)} dependencies`,
  ];
  return faults.flatMap((fault) => (fault === false ? [] : [`${SKILL_FILE}: ${fault}`]));
}

/** Counts characters, not UTF-16 units. */
const isLonger = (text: string, limit: number): boolean => text.length > limit && Array.from(text).length > limit;

const hasTextsOnly = (value: unknown): boolean =>
  value === undefined ||
  value === '' ||
  (typeof value === 'object' && value !== null && Object.values(value).every((member) => typeof member === 'string'));
