import { Type } from 'typebox';
import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { SKILL_ERRORS } from '../skill-error.ts';

const { invalid_skill_request } = SKILL_ERRORS;
const Messages = (description: string) => Type.Optional(Type.Array(Type.String(), { description }));

export const validateSkill = defineManagementOperation({
  id: 'validateSkill',
  method: 'POST',
  path: `${API_BASE}/skills/validate`,
  tag: 'skills',
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
});
