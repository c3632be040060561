import { Type } from 'typebox';
import { CLUSTER_UNAVAILABLE } from '../cluster-access.ts';
import { API_BASE, operationsOn, TRANSFER_TIMEOUT_MS, type ManagementOperation } from '../operation.ts';
import { SKILL_ERRORS } from './errors.ts';
import { SkillContent } from './read-content.ts';
import { InstalledSkill, PlaceSchema, SkillInstall, SkillMetadataSchema, toInstalledSkill } from './shapes.ts';
import { SkillUpgrade, UpgradeOutcome } from './upgrade-skills.ts';

const operation = operationsOn('skills');

const SkillPath = Type.Object({ name: Type.String({ description: 'Name of the skill.' }) });

const { invalid_skill_request, skill_not_found, group_not_found } = SKILL_ERRORS;

const Messages = (description: string) => Type.Optional(Type.Array(Type.String(), { description }));

const { signature_required: _signature, group_not_found: _group, ...CONTENT_ERRORS } = SKILL_ERRORS;

/** Operations on skills, in the order of the documentation. To add an operation, add an entry. */
export const SKILL_OPERATIONS: readonly ManagementOperation[] = [
  operation({
    id: 'listSkills',
    method: 'GET',
    path: `${API_BASE}/skills`,
    summary: 'List installed skills',
    input: {
      query: Type.Object({
        ...PlaceSchema.properties,
        client: Type.Optional(Type.String({ description: 'Type of a client that has the skill.' })),
        group: Type.Optional(Type.String({ description: 'Group of the skill.' })),
      }),
    },
    success: { status: 200, body: Type.Object({ skills: Type.Array(InstalledSkill) }) },
    errors: { invalid_skill_request, group_not_found, ...CLUSTER_UNAVAILABLE },
    run: async ({ skills }, { query }) => ({ skills: (await skills.list(query)).map(toInstalledSkill) }),
  }),
  operation({
    id: 'installSkill',
    method: 'POST',
    path: `${API_BASE}/skills`,
    summary: 'Install a skill',
    description:
      'Downloads the skill and the skills that it needs, and writes them into the folders of the clients. An error leaves everything as it was. ' +
      'A skill that is installed already is updated in place. Without `scope`, installs for the project in `project_root`, if there is one, else for the user.',
    input: { body: SkillInstall },
    success: {
      status: 201,
      body: Type.Object({
        skill: InstalledSkill,
        left_out: Type.Optional(
          Type.Array(Type.String(), {
            description:
              'Files and folders of the source that are not installed, as `SKILL/PATH`: hidden ones, and instructions that agents load by themselves.',
          }),
        ),
      }),
      location: ({ skill }: { skill: InstalledSkill }) => `${API_BASE}/skills/${skill.metadata.name}`,
    },
    errors: { ...SKILL_ERRORS, ...CLUSTER_UNAVAILABLE },
    timeoutMs: TRANSFER_TIMEOUT_MS,
    run: async ({ skills }, { body }, { signal }) => {
      const { record, leftOut } = await skills.install(body, signal);
      return { skill: toInstalledSkill(record), ...(leftOut.length > 0 && { left_out: leftOut }) };
    },
  }),
  operation({
    id: 'validateSkill',
    method: 'POST',
    path: `${API_BASE}/skills/validate`,
    summary: 'Check the folder of a skill',
    input: {
      body: Type.Object({
        path: Type.String({ minLength: 1, description: 'Absolute path of the folder on this machine.' }),
      }),
    },
    success: {
      status: 200,
      body: Type.Object({
        valid: Type.Boolean({ description: 'True without errors.' }),
        errors: Messages('Reasons why clients may not use the skill.'),
        warnings: Messages('Advice that does not make the skill invalid.'),
      }),
    },
    errors: { invalid_skill_request },
    run: ({ skills }, { body: { path } }) => skills.check(path),
  }),
  operation({
    id: 'upgradeSkills',
    method: 'POST',
    path: `${API_BASE}/skills/upgrade`,
    summary: 'Upgrade skills',
    description:
      'Reads the sources of installed skills again, and replaces the files that have changed, for the same clients and groups. ' +
      'A skill that cannot be upgraded stays as it is, and its outcome says why. Without `scope`, upgrades the skills of the project in `project_root`, if there is one, else those of the user.',
    input: { body: SkillUpgrade },
    success: {
      status: 200,
      body: Type.Object({
        outcomes: Type.Array(UpgradeOutcome, { description: 'One for each skill, sorted by name.' }),
      }),
    },
    errors: { invalid_skill_request, skill_not_found },
    timeoutMs: TRANSFER_TIMEOUT_MS,
    run: async ({ skills }, { body }, { signal }) => ({ outcomes: await skills.upgrade(body, signal) }),
  }),
  operation({
    id: 'getSkillContent',
    method: 'GET',
    path: `${API_BASE}/skills/content`,
    summary: 'Read a skill without installing it',
    input: {
      query: Type.Object({
        ref: Type.String({ minLength: 1, description: 'Name of the skill, as for an installation.' }),
      }),
    },
    success: { status: 200, body: SkillContent },
    errors: CONTENT_ERRORS,
    timeoutMs: TRANSFER_TIMEOUT_MS,
    run: ({ skills }, { query: { ref } }, { signal }) => skills.content(ref, signal),
  }),
  operation({
    id: 'getSkill',
    method: 'GET',
    path: `${API_BASE}/skills/{name}`,
    summary: 'Get the details of an installed skill',
    description: 'Without `scope`, that of the user.',
    input: { path: SkillPath, query: PlaceSchema },
    success: {
      status: 200,
      body: Type.Object({
        metadata: SkillMetadataSchema,
        installed_skill: InstalledSkill,
        unsigned: Type.Boolean({ description: 'True: no signature of the skill was verified.' }),
      }),
    },
    errors: { invalid_skill_request, skill_not_found },
    run: async ({ skills }, { path: { name }, query }) => {
      const record = await skills.get(name, query);
      return { metadata: record.metadata, installed_skill: toInstalledSkill(record), unsigned: true };
    },
  }),
  operation({
    id: 'uninstallSkill',
    method: 'DELETE',
    path: `${API_BASE}/skills/{name}`,
    summary: 'Uninstall a skill',
    description:
      'Removes its folders, and the skills that were installed only because it needs them. Without `scope`, uninstalls the skill of the user.',
    input: { path: SkillPath, query: PlaceSchema },
    success: { status: 204 },
    errors: { invalid_skill_request, skill_not_found, ...CLUSTER_UNAVAILABLE },
    run: ({ skills }, { path: { name }, query }) => skills.uninstall(name, query),
  }),
];
