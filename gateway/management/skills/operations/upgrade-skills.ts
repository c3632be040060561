import { Type } from 'typebox';
import { API_BASE, defineManagementOperation, TRANSFER_TIMEOUT_MS } from '../../operation.ts';
import { SKILL_ERRORS } from '../skill-error.ts';
import { SkillUpgrade, UpgradeOutcome } from '../upgrade/upgrade-outcome.ts';

const { invalid_skill_request, skill_not_found } = SKILL_ERRORS;

export const upgradeSkills = defineManagementOperation({
  id: 'upgradeSkills',
  method: 'POST',
  path: `${API_BASE}/skills/upgrade`,
  tag: 'skills',
  summary: 'Upgrade skills',
  description:
    'Reads the sources of installed skills again, and replaces the files that have changed, for the same clients and groups. ' +
    'A skill that cannot be upgraded stays as it is, and its outcome says why. Without `scope`, upgrades the skills of the project in `project_root`, if there is one, else those of the user.',
  input: { body: SkillUpgrade },
  success: {
    status: 200,
    body: Type.Object({ outcomes: Type.Array(UpgradeOutcome, { description: 'One for each skill, sorted by name.' }) }),
  },
  errors: { invalid_skill_request, skill_not_found },
  timeoutMs: TRANSFER_TIMEOUT_MS,
  run: async ({ skills }, { body }, { signal }) => ({ outcomes: await skills.upgrade(body, signal) }),
});
