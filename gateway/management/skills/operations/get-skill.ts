import { Type } from 'typebox';
import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { PlaceSchema } from '../install/install-request.ts';
import { InstalledSkill, SkillMetadataSchema, toInstalledSkill } from '../installed-skill.ts';
import { SKILL_ERRORS } from '../skill-error.ts';
import { SkillPath } from './skill-path.ts';

const { invalid_skill_request, skill_not_found } = SKILL_ERRORS;

export const getSkill = defineManagementOperation({
  id: 'getSkill',
  method: 'GET',
  path: `${API_BASE}/skills/{name}`,
  tag: 'skills',
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
});
