import { hasInvisible } from '../../../contract/text/printable.ts';

/** File systems read several spellings as one name: they fold case and Unicode forms, and drop characters without a glyph. */
const IGNORED = /\p{Default_Ignorable_Code_Point}/gu;

/** Returns a name as Windows reads it: without a stream of the file, which a colon begins, and without dots and spaces at its end. */
function windowsName(name: string): string {
  const [start = ''] = name.split(':', 1);
  let end = start.length;
  while (end > 0 && '. '.includes(start.charAt(end - 1))) end -= 1;
  return start.slice(0, end);
}

/** Returns the name that some file system reads in place of this one. Two entries of a folder with one such name are the same file. */
export function foldedName(name: string): string {
  const composed = name.normalize('NFKC').replace(IGNORED, '');
  return windowsName(composed.toUpperCase().toLowerCase().normalize('NFKC'));
}

/** Short name that Windows gives to a longer one: `git~1` is `.git`. */
const SHORT_NAME = /^[^.]{1,7}~\d{1,6}(?:\.[^.]{0,3})?$/u;
/** Names of devices on Windows, with or without an extension. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9]|conin\$|conout\$) *(?:\..*)?$/u;

/** Returns the reason why no skill may have a file or folder of this name, as the end of a sentence; undefined when it may. */
export function entryNameFault(name: string): string | undefined {
  const folded = foldedName(name);
  if (folded === '') return 'a part of it is no name';
  if (folded === '.git') return 'git would obey the files of a publisher';
  if (name.includes('\\') || hasInvisible(name)) return 'a name has no backslash and no invisible character';
  if (name.includes('\uFFFD')) return 'a name must be UTF-8';
  if (SHORT_NAME.test(folded) || DEVICE.test(folded) || windowsName(name) !== name) {
    return 'Windows reads the name as that of another file: rename it';
  }
  return undefined;
}

/** Files that agents, editors and file managers load by themselves, whatever the skill is about, by their folded names. */
const LOADED =
  /^(?:agents?|claude|codebuddy|codex|copilot-instructions|crush|gemini|iflow|kimi|qwen|replit|warp)(?:\.(?:local|override))?\.md$|\.instructions\.md$|^(?:crush|firebender|gemini-extension|hooks|opencode)\.jsonc?$|^mise(?:\.local)?\.toml$|^(?:desktop\.ini|autorun\.inf)$/u;
/** A second one below the top makes another skill, which nobody has installed. */
const NESTED_SKILL = 'skill.md';

type LeftOutReason = 'its name is hidden' | 'agents or other tools load it by themselves';

/** Start of a path that is not installed: a file, or a folder with `/` at its end. */
interface LeftOut {
  readonly path: string;
  readonly reason: LeftOutReason;
}

/**
 * Returns the part of a path that a skill is installed without; undefined for a file that is installed. The format of skills knows
 * `SKILL.md`, `scripts/`, `references/`, `assets/` and ordinary files, which agents read when `SKILL.md` says so. Settings of
 * editors, shells and agents have hidden names.
 * @see https://agentskills.io/specification
 */
export function leftOutOf(path: string): LeftOut | undefined {
  const parts = path.split('/');
  for (const [index, part] of parts.entries()) {
    const reason = reasonToLeaveOut(foldedName(part), index);
    if (reason === undefined) continue;
    const isFile = index === parts.length - 1;
    return { path: `${parts.slice(0, index + 1).join('/')}${isFile ? '' : '/'}`, reason };
  }
  return undefined;
}

function reasonToLeaveOut(folded: string, depth: number): LeftOutReason | undefined {
  if (folded.startsWith('.')) return 'its name is hidden';
  const isNestedSkill = depth > 0 && folded === NESTED_SKILL;
  return isNestedSkill || LOADED.test(folded) ? 'agents or other tools load it by themselves' : undefined;
}
