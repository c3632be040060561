import { Type, type Static } from 'typebox';

const SCOPES = ['user', 'project'] as const;
export type Scope = (typeof SCOPES)[number];

const text = (description: string) => Type.String({ description });

export const SkillMetadataSchema = Type.Object(
  {
    name: text('Name of the skill.'),
    version: text('Version that the skill declares; empty without one.'),
    description: text('Purpose of the skill.'),
    author: text('Author that the skill declares; empty without one.'),
    tags: Type.Optional(Type.Array(Type.String(), { description: 'Keywords.' })),
  },
  { title: 'SkillMetadata', description: 'Facts that the skill declares.' },
);

const Dependency = Type.Object(
  {
    name: text('Name of the skill that is needed.'),
    reference: text('Reference that leads to exactly its files.'),
    digest: text('Digest of its source.'),
  },
  { title: 'SkillDependency' },
);

/** Installed skill as the API returns it: `SkillRecord` without its internal members. */
export const InstalledSkill = Type.Object(
  {
    metadata: SkillMetadataSchema,
    scope: Type.Enum([...SCOPES], { description: 'Installed for the user, or for one project.' }),
    project_root: Type.Optional(text('Folder of the project.')),
    reference: Type.Optional(text('Reference that leads to exactly these files.')),
    tag: Type.Optional(text('Requested tag, branch or commit.')),
    digest: Type.Optional(text('Digest of the manifest, or id of the commit.')),
    status: Type.Enum(['installed', 'pending', 'failed'], { description: 'State of the skill.' }),
    installed_at: text('Time of the last change of the files, RFC 3339.'),
    clients: Type.Optional(Type.Array(Type.String(), { description: 'Types of the clients that have the skill.' })),
    dependencies: Type.Optional(Type.Array(Dependency, { description: 'Skills that this one needs.' })),
    managed: Type.Boolean({ description: 'True: vmcp wrote the files, and updates and removes them.' }),
  },
  { title: 'InstalledSkill' },
);
export type InstalledSkill = Static<typeof InstalledSkill>;

/** Stored record of an installed skill. Unique by name, scope and project. */
export const SkillRecord = Type.Object({
  metadata: SkillMetadataSchema,
  scope: Type.Enum([...SCOPES]),
  project_root: Type.Optional(Type.String()),
  reference: Type.String(),
  tag: Type.Optional(Type.String()),
  digest: Type.String(),
  installed_at: Type.String(),
  clients: Type.Array(Type.String()),
  dependencies: Type.Array(Dependency),
  /** Name of the skill, as the request or `requires` of another skill has it. */
  source: Type.String(),
  content_digest: Type.String(),
  /** False for a skill that was installed only because others need it. */
  explicit: Type.Boolean(),
});
export type SkillRecord = Static<typeof SkillRecord>;

/** Returns the answer of the API for a record. */
export const toInstalledSkill = ({
  source: _source,
  content_digest: _digest,
  explicit: _explicit,
  dependencies,
  ...record
}: SkillRecord): InstalledSkill => ({
  ...record,
  status: 'installed',
  ...(dependencies.length > 0 && { dependencies }),
  managed: true,
});

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
