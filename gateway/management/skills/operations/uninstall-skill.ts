import { CLUSTER_UNAVAILABLE } from '../../cluster-access.ts';
import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { PlaceSchema } from '../install/install-request.ts';
import { SKILL_ERRORS } from '../skill-error.ts';
import { SkillPath } from './skill-path.ts';

const { invalid_skill_request, skill_not_found } = SKILL_ERRORS;

export const uninstallSkill = defineManagementOperation({
  id: 'uninstallSkill',
  method: 'DELETE',
  path: `${API_BASE}/skills/{name}`,
  tag: 'skills',
  summary: 'Uninstall a skill',
  description:
    'Removes its folders, and the skills that were installed only because it needs them. Without `scope`, uninstalls the skill of the user.',
  input: { path: SkillPath, query: PlaceSchema },
  success: { status: 204 },
  errors: { invalid_skill_request, skill_not_found, ...CLUSTER_UNAVAILABLE },
  run: ({ skills }, { path: { name }, query }) => skills.uninstall(name, query),
});
