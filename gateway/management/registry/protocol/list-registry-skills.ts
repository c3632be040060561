import { Type } from 'typebox';
import { text } from '../../../contract/optional.ts';
import { defineManagementOperation } from '../../operation.ts';
import { listSkills } from '../lookup/list-skills.ts';
import { SkillPage } from '../schema/skill.ts';
import { READING_ERRORS } from '../registry-errors.ts';
import { ext, PROTOCOL_BASE, registryName } from './protocol-base.ts';

export const listRegistrySkills = defineManagementOperation({
  id: 'listRegistrySkills',
  method: 'GET',
  path: `${PROTOCOL_BASE}/x/{ext}/skills`,
  tag: 'registry',
  summary: 'List the skills of a registry',
  input: {
    path: Type.Object({ registryName, ext }),
    query: Type.Object({
      q: text('Text in the name, namespace or description.'),
      page: text('Number of the page, from 1. Another text means 1.'),
      limit: text('Largest number of skills: 1 to 200, 50 by default.'),
    }),
  },
  success: { status: 200, body: SkillPage },
  errors: READING_ERRORS,
  hasStructuredErrors: true,
  run: async ({ registry }, { query }) => listSkills(await registry.skills(), query),
});
