import { Type } from 'typebox';
import { CLUSTER_UNAVAILABLE } from '../../cluster-access.ts';
import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { PlaceSchema } from '../install/install-request.ts';
import { InstalledSkill, toInstalledSkill } from '../installed-skill.ts';
import { SKILL_ERRORS } from '../skill-error.ts';

const { invalid_skill_request, group_not_found } = SKILL_ERRORS;

export const listSkills = defineManagementOperation({
  id: 'listSkills',
  method: 'GET',
  path: `${API_BASE}/skills`,
  tag: 'skills',
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
});
