import { OperationError } from '../../../http/endpoint/request-error.ts';
import { collectSkills, leftOutBy, type CollectedSkill, type DownloadedSkill } from '../install/collect-skills.ts';
import type { SkillRecord } from '../installed-skill.ts';
import { installSource } from '../reference/install-source.ts';
import { parseOciReference } from '../reference/oci-reference.ts';
import { isSameRepository } from '../reference/same-repository.ts';
import { SkillError } from '../skill-error.ts';
import { isImmutable, upgradeOutcome, type SkillUpgrade, type UpgradeOutcome } from './upgrade-outcome.ts';

export interface UpgradeDeps {
  readonly download: (request: {
    readonly source: string;
    readonly version?: string | undefined;
    readonly isNamedByUser: boolean;
  }) => Promise<DownloadedSkill>;
  /** Reads the records of the place again. */
  readonly installed: () => Promise<readonly SkillRecord[]>;
  /** Replaces the files of an installed skill. @throws SkillError when it has changed in the meantime */
  readonly apply: (record: SkillRecord, skills: readonly CollectedSkill[]) => Promise<unknown>;
}

/**
 * Reads the sources of installed skills again, one after the other, and installs what has changed. One failure leaves the others. A
 * dependency that is removed with the upgrade of another skill has no outcome.
 */
export async function upgradeSkills(
  records: readonly SkillRecord[],
  request: SkillUpgrade,
  deps: UpgradeDeps,
  signal: AbortSignal,
): Promise<UpgradeOutcome[]> {
  const outcomes: UpgradeOutcome[] = [];
  for (const record of records) {
    try {
      const installed = await deps.installed();
      const isGone = installed.every(({ metadata }) => metadata.name !== record.metadata.name);
      if (!isGone || record.explicit) outcomes.push(await upgradeOne(record, installed, request, deps));
    } catch (error) {
      if (!(error instanceof OperationError) || signal.aborted) throw error;
      const { name } = record.metadata;
      const failure = { reason: error.code, error: error.message };
      outcomes.push({ name, status: 'failed', old_digest: record.digest, ...failure });
    }
  }
  return outcomes;
}

async function upgradeOne(
  record: SkillRecord,
  installed: readonly SkillRecord[],
  { preview = false, allow_ref_change: isMoveAllowed = false }: SkillUpgrade,
  { download, apply }: UpgradeDeps,
): Promise<UpgradeOutcome> {
  const { metadata, source, digest, explicit } = record;
  if (isImmutable(source)) return { name: metadata.name, status: 'not-upgradable', old_digest: digest };
  const version = versionOf(record);
  const skills = await collectSkills(source, (each, isDependency) =>
    download({ source: each, version: isDependency ? undefined : version, isNamedByUser: explicit && !isDependency }),
  );
  const found = skills.at(-1);
  if (found?.metadata.name !== metadata.name) {
    throw new SkillError('unusable_skill', `the skill at "${source}" now has the name "${found?.metadata.name ?? ''}"`);
  }
  const outcome = upgradeOutcome(record, found, { dependencies: skills.slice(0, -1), installed, isMoveAllowed });
  if (outcome.status !== 'upgraded') return outcome;
  if (!preview) await apply(record, skills);
  const leftOut = leftOutBy(skills);
  return { ...outcome, ...(leftOut.length > 0 && { left_out: leftOut }) };
}

/** Returns the tag that was asked for beside a name without a tag. The tag of a package that a registry chose is not one. */
function versionOf({ source, reference, tag }: SkillRecord): string | undefined {
  const isTagless = installSource(source)?.kind === 'oci' && parseOciReference(source)?.tag === undefined;
  return isTagless && isSameRepository(source, reference) && tag !== 'latest' ? tag : undefined;
}
