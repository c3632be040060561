import type { RegistrySkill, SkillPage } from '../schema/skill.ts';
import { pageLength, pageNumber } from './page-number.ts';

/** Query of the list of skills, as it was sent. */
export interface SkillQuery {
  readonly q?: string | undefined;
  readonly page?: string | undefined;
  readonly limit?: string | undefined;
}

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;

/** Lists one page of the skills whose name, namespace or description contains `q`, in any case. */
export function listSkills(skills: readonly RegistrySkill[], query: SkillQuery): SkillPage {
  const text = (query.q ?? '').toLowerCase();
  const matches = skills.filter((skill) =>
    [skill.name, skill.namespace, skill.description].some((member) => member.toLowerCase().includes(text)),
  );
  const page = pageNumber(query.page);
  const limit = pageLength(query.limit, DEFAULT_LIMIT, MAX_LIMIT);
  return {
    skills: matches.slice((page - 1) * limit, page * limit),
    metadata: { page, limit, total: matches.length },
  };
}
