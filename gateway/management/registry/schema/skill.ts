import { Type, type Static } from 'typebox';
import { text, texts } from '../../../contract/optional.ts';

/** Place from which a skill can be installed. */
const SkillPackage = Type.Object(
  {
    registryType: text('`oci` or `git`.'),
    identifier: text('OCI reference.'),
    digest: text('Digest of the artifact.'),
    mediaType: text('Media type of the artifact.'),
    url: text('URL of a git repository.'),
    ref: text('Branch or tag.'),
    commit: text('Commit.'),
    subfolder: text('Folder of the skill in the repository.'),
  },
  { title: 'SkillPackage' },
);

const SkillIcon = Type.Object(
  {
    src: text('URL of the image.'),
    type: text('Media type.'),
    size: text('Size, such as `48x48`.'),
    label: text('Text for screen readers.'),
  },
  { title: 'SkillIcon' },
);

/** Skill of a registry. */
export const RegistrySkill = Type.Object(
  {
    namespace: Type.String({ description: 'Owner in reverse-DNS form.' }),
    name: Type.String({ description: 'Name in the namespace.' }),
    description: Type.String({ description: 'Purpose of the skill.' }),
    version: Type.String({ description: 'Version.' }),
    title: text('Display name.'),
    status: text('`active`, `deprecated` or `archived`.'),
    license: text('SPDX identifier.'),
    compatibility: text('Requirements of the skill.'),
    allowedTools: texts('Tools that the skill may use.'),
    repository: Type.Optional(
      Type.Object({ url: text('URL.'), type: text('Kind, such as `git`.') }, { description: 'Source repository.' }),
    ),
    icons: Type.Optional(Type.Array(SkillIcon, { description: 'Icons.' })),
    packages: Type.Optional(Type.Array(SkillPackage, { description: 'Places to install from.' })),
    metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'Metadata of the publisher.' })),
    _meta: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'Metadata of registries.' })),
  },
  { title: 'RegistrySkill', description: 'Skill of a registry.' },
);
export type RegistrySkill = Static<typeof RegistrySkill>;

/** Page of skills. */
export const SkillPage = Type.Object(
  {
    skills: Type.Array(RegistrySkill, { description: 'Skills of this page, sorted by namespace and name.' }),
    metadata: Type.Object({
      page: Type.Integer({ description: 'Number of the page, from 1.' }),
      limit: Type.Integer({ description: 'Largest number of skills on a page.' }),
      total: Type.Integer({ description: 'Number of matching skills.' }),
    }),
  },
  { title: 'RegistrySkillPage' },
);
export type SkillPage = Static<typeof SkillPage>;
