import type { SkillRecord } from '../installed-skill.ts';
import type { Place } from '../place.ts';
import type { CollectedSkill } from './collect-skills.ts';
import type { InstallPlan } from './plan-install.ts';

/** Returns the record of a skill after its installation. The time changes only when files are written. `now` is in RFC 3339. */
export function nextRecord(
  skill: CollectedSkill,
  before: SkillRecord | undefined,
  { plan, place, isExplicit, now }: { plan: InstallPlan; place: Place; isExplicit: boolean; now: string },
): SkillRecord {
  const explicit = isExplicit || before?.explicit === true;
  const { metadata, reference, tag, digest, contentDigest } = skill;
  const dependencies = skill.dependencies.map((dependency) => ({ ...dependency }));
  if (before?.digest === digest && plan.write.length === 0) {
    return { ...before, clients: [...plan.clients], dependencies, explicit };
  }
  return {
    metadata,
    scope: place.scope,
    ...(place.project_root !== undefined && { project_root: place.project_root }),
    reference,
    ...(tag !== undefined && { tag }),
    digest,
    installed_at: now,
    clients: [...plan.clients],
    dependencies,
    // A skill that the user requested keeps the source that the user named.
    source: !isExplicit && before?.explicit === true ? before.source : skill.source,
    content_digest: contentDigest,
    explicit,
  };
}
