import { Type, type Static } from 'typebox';
import { SCOPES } from '../installed-skill.ts';

const optionalText = (description: string) => Type.Optional(Type.String({ description }));

/** Scope of a request: skills of the user, or of one project. */
export const PlaceSchema = Type.Object({
  scope: Type.Optional(Type.Enum([...SCOPES], { description: 'Skills of the user or of one project.' })),
  project_root: optionalText('Top folder of the git repository of the project. Required for the scope `project`.'),
});

export const SkillInstall = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      description: 'Name in a registry, an OCI reference, or `git://HOST/OWNER/REPOSITORY[@REF][#FOLDER]`.',
    }),
    version: optionalText(
      'Tag of an OCI artifact whose name has none; otherwise the version of a skill that declares none.',
    ),
    ...PlaceSchema.properties,
    clients: Type.Optional(
      Type.Array(Type.String(), { description: 'Client types; every detected client that reads skills by default.' }),
    ),
    force: Type.Optional(
      Type.Boolean({
        description:
          'Overwrites folders that vmcp does not manage, and lets a skill that it needs replace an installed one of another repository.',
      }),
    ),
    group: optionalText('Group that the skill is added to; `default` by default.'),
    allow_unsigned: Type.Optional(Type.Boolean({ description: 'Accepts a skill without a signature into a project.' })),
    public_key: optionalText('Key that must have signed the skill. Not supported yet: the answer is 403.'),
  },
  { title: 'SkillInstall' },
);
export type SkillInstall = Static<typeof SkillInstall>;
