import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { MAX_SKILL_FILE_BYTES, SKILL_FILE } from '../document/skill-md.ts';

/** Reads the `SKILL.md` of a folder, and of a file that is too large no more than shows that. */
export const readSkillFile = (folder: string): Promise<Buffer> =>
  buffer(createReadStream(join(folder, SKILL_FILE), { end: MAX_SKILL_FILE_BYTES }));
