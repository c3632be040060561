import { Type } from 'typebox';
import { CLUSTER_UNAVAILABLE } from '../../cluster-access.ts';
import { API_BASE, defineManagementOperation, TRANSFER_TIMEOUT_MS } from '../../operation.ts';
import { SkillInstall } from '../install/install-request.ts';
import { InstalledSkill, toInstalledSkill } from '../installed-skill.ts';
import { SKILL_ERRORS } from '../skill-error.ts';

export const installSkill = defineManagementOperation({
  id: 'installSkill',
  method: 'POST',
  path: `${API_BASE}/skills`,
  tag: 'skills',
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
});
