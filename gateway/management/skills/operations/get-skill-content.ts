import { Type } from 'typebox';
import { API_BASE, defineManagementOperation, TRANSFER_TIMEOUT_MS } from '../../operation.ts';
import { SkillContent } from '../read-content.ts';
import { SKILL_ERRORS } from '../skill-error.ts';

const { signature_required: _signature, group_not_found: _group, ...errors } = SKILL_ERRORS;

export const getSkillContent = defineManagementOperation({
  id: 'getSkillContent',
  method: 'GET',
  path: `${API_BASE}/skills/content`,
  tag: 'skills',
  summary: 'Read a skill without installing it',
  input: {
    query: Type.Object({
      ref: Type.String({ minLength: 1, description: 'Name of the skill, as for an installation.' }),
    }),
  },
  success: { status: 200, body: SkillContent },
  errors,
  timeoutMs: TRANSFER_TIMEOUT_MS,
  run: ({ skills }, { query: { ref } }, { signal }) => skills.content(ref, signal),
});
