import { isScalar, parseDocument, visit, type Document } from 'yaml';
import { isObject } from '../../contract/json.ts';
import { isSkillName } from './reference/install-source.ts';

/** Fields by name. All scalars are texts: `version: 1.0` is "1.0". */
export type FrontMatter = Readonly<Record<string, unknown>>;

interface Fields {
  readonly fields: FrontMatter;
  /** Values that are not valid YAML and were read as text. */
  readonly faults: readonly string[];
}

/** Lines of a field, starting with the line that has its name. */
interface Section {
  readonly key: string;
  /** Number of the first line in the file. */
  readonly line: number;
  readonly text: string;
}

const OPTIONS = { schema: 'failsafe', prettyErrors: false, uniqueKeys: false } as const;
const ALIASES = 'has front matter with YAML aliases: write the values out';
const NO_MAP = 'has front matter that is not a map of fields';
/** Number of the first line of the front matter, which follows a `---` line. */
const FIRST_LINE = 2;

/**
 * Returns the fields, or the reason why they cannot be read. Clients load skills whose descriptions and hints are not valid YAML, such as
 * `description: Use when: ...`: these values are read as text.
 */
export function parseFields(source: string): Fields | string {
  const yaml = parseDocument(source, OPTIONS);
  const value = yaml.errors.length === 0 ? yamlValue(yaml) : undefined;
  if (value === undefined) return hasAnchors(yaml) ? ALIASES : fieldByField(source);
  if (!isObject(value)) return NO_MAP;
  if (hasDuplicateKeys(yaml)) {
    const located = fieldByField(source);
    return typeof located === 'string' ? located : invalid(FIRST_LINE, 'a key is there twice (DUPLICATE_KEY)');
  }
  const { description } = value;
  return description === undefined || typeof description === 'string'
    ? { fields: value, faults: [] }
    : fieldByField(source);
}

/** Reads each field by itself, so that a field that is not valid YAML does not hide the others. */
function fieldByField(source: string): Fields | string {
  const sections = sectionsOf(source);
  if (typeof sections === 'string') return sections;
  const fields = new Map<string, unknown>();
  const faults: string[] = [];
  for (const section of sections) {
    const { key, line } = section;
    if (fields.has(key)) return invalid(line, `the key ${key} is there twice (DUPLICATE_KEY): keep one of them`);
    const value = strictValue(section);
    if (value !== undefined) {
      fields.set(key, value);
      continue;
    }
    const text = lenientValue(section);
    if (text === undefined) return invalid(line, `${key}: ${adviceFor(section)}`);
    fields.set(key, text);
    faults.push(`line ${String(line)}: ${key} is not valid YAML and was read as text: ${QUOTE}`);
  }
  return { fields: Object.fromEntries(fields), faults };
}

const QUOTE = 'write its value in quotes';
const invalid = (line: number, reason: string): string =>
  `has front matter that is not valid YAML: line ${String(line)}: ${reason}`;

/** Names a duplicate key in the field, and indentation by tabs, which YAML does not allow. */
function adviceFor({ text }: Section): string {
  const yaml = parseDocument(text, OPTIONS);
  if (yaml.errors.length === 0 && hasDuplicateKeys(yaml)) return 'it has a key twice (DUPLICATE_KEY): keep one of them';
  return /^ *\t/mu.test(text) ? 'indent with spaces instead of tabs' : `correct it, or ${QUOTE}`;
}

/** A field starts at a line with its name, and has all lines up to the next field. */
function sectionsOf(source: string): Section[] | string {
  const sections: { key: string; line: number; lines: string[] }[] = [];
  for (const [index, text] of source.split('\n').entries()) {
    const line = index + FIRST_LINE;
    const [, key] = /^(?!-\s)([^\s:#'"[\]{},&*!|>%@`][^:#]*):(?:\s|$)/u.exec(text) ?? [];
    const last = sections.at(-1);
    if (key !== undefined) sections.push({ key: key.trim(), line, lines: [text] });
    else if (last) last.lines.push(text);
    else if (text.trim() !== '' && !text.startsWith('#')) return invalid(line, 'write a field as "name: value"');
  }
  return sections.map(({ lines, ...section }) => ({ ...section, text: lines.join('\n') }));
}

/** Returns the value of a field in valid YAML. A description is always a text. */
function strictValue({ key, text }: Section): unknown {
  const yaml = parseDocument(text, OPTIONS);
  if (yaml.errors.length > 0 || hasDuplicateKeys(yaml)) return undefined;
  const fields = yamlValue(yaml);
  if (!isObject(fields) || Object.keys(fields).length !== 1) return undefined;
  const value = fields[key];
  return key === 'description' && typeof value !== 'string' ? undefined : value;
}

/** Returns the text of a field as it is written; undefined for a field whose value vmcp uses. */
function lenientValue({ key, text }: Section): string | undefined {
  const raw = text
    .slice(text.indexOf(':') + 1)
    .split('\n')
    .map((line) => line.trim())
    .join(' ')
    .trim()
    .replace(/^[>|][-+]? /u, '');
  if (key === 'name') return isSkillName(raw) ? raw : undefined;
  const isActedOn = key === 'metadata' || key === 'tags' || key === 'requires' || key.endsWith('.requires');
  return isActedOn ? undefined : raw;
}

/** Returns the value; undefined for a text with aliases. */
function yamlValue(yaml: Document): unknown {
  try {
    return yaml.toJS({ maxAliasCount: 0 }) ?? '';
  } catch {
    return undefined;
  }
}

/** Returns true if the text has anchors. Without anchors, an alias is a text that starts with an asterisk. */
function hasAnchors(yaml: Document): boolean {
  let found = false;
  visit(yaml, {
    Node: (_, { anchor }: { readonly anchor?: string }) => {
      found ||= anchor !== undefined;
    },
  });
  return found;
}

/** Compares the keys of each map at once: the check of the parser takes seconds for thousands of keys. */
function hasDuplicateKeys(yaml: Document): boolean {
  let hasDuplicates = false;
  visit(yaml, {
    Map: (_, { items }) => {
      const keys = items.flatMap(({ key }) => (isScalar(key) ? [key.value] : []));
      if (new Set(keys).size === keys.length) return undefined;
      hasDuplicates = true;
      return visit.BREAK;
    },
  });
  return hasDuplicates;
}
