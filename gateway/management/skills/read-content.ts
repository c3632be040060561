import { Type, type Static } from 'typebox';
import { readSkillMd } from './skill-md.ts';
import { fileSizes, readSkillFile } from './files/read-folder.ts';
import type { DownloadedSkill } from './collect-skills.ts';

export const SkillContent = Type.Object(
  {
    name: Type.String({ description: 'Name of the skill.' }),
    description: Type.String({ description: 'Purpose of the skill.' }),
    version: Type.Optional(Type.String({ description: 'Version that the skill declares.' })),
    license: Type.Optional(Type.String({ description: 'License that the skill declares.' })),
    body: Type.String({ description: 'Markdown of the skill.' }),
    files: Type.Array(
      Type.Object({
        path: Type.String({ description: 'Path below the folder of the skill.' }),
        size: Type.Integer({ description: 'Size in bytes.' }),
      }),
      { description: 'All files that an installation writes.' },
    ),
    left_out: Type.Optional(
      Type.Array(Type.String(), { description: 'Files and folders of the source that an installation leaves out.' }),
    ),
  },
  { title: 'SkillContent' },
);

/** Reads the text of a downloaded skill and the names of its files. */
export async function readContent({
  metadata,
  folder,
  leftOut,
}: DownloadedSkill): Promise<Static<typeof SkillContent>> {
  const { document } = readSkillMd(await readSkillFile(folder));
  const { license = '', body = '' } = document ?? {};
  const { name, description, version } = metadata;
  const files = [...(await fileSizes(folder))].map(([path, size]) => ({ path, size }));
  return {
    ...{ name, description },
    ...(version !== '' && { version }),
    ...(license !== '' && { license }),
    body,
    files,
    ...(leftOut && { left_out: [...leftOut] }),
  };
}
