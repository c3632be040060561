import { OperationError } from '../../../http/endpoint/request-error.ts';
import { collectSkills, type CollectedSkill, type DownloadedSkill } from '../install/collect-skills.ts';
import type { SkillRecord } from '../installed-skill.ts';
import { installSource } from '../reference/install-source.ts';
import { parseOciReference } from '../reference/oci-reference.ts';
import { SkillError } from '../skill-error.ts';
import { isImmutable, upgradeOutcome, type SkillUpgrade, type UpgradeOutcome } from './upgrade-outcome.ts';

export interface UpgradeDeps {
  readonly download: (request: {
    readonly source: string;
    readonly version?: string | undefined;
    readonly isNamedByUser: boolean;
  }) => Promise<DownloadedSkill>;
  /** Replaces the files of an installed skill. @throws SkillError if the skill was changed after `record` was read */
  readonly apply: (record: SkillRecord, skills: readonly CollectedSkill[]) => Promise<unknown>;
}

/** Reads the sources of installed skills again, one after the other, and installs new content. Continues after a failure. */
export async function upgradeSkills(
  records: readonly SkillRecord[],
  request: SkillUpgrade,
  deps: UpgradeDeps,
  signal: AbortSignal,
): Promise<UpgradeOutcome[]> {
  const outcomes: UpgradeOutcome[] = [];
  for (const record of records) {
    try {
      outcomes.push(await upgradeOne(record, request, deps));
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
  const outcome = upgradeOutcome(record, found, isMoveAllowed);
  if (outcome.status === 'upgraded' && !preview) await apply(record, skills);
  return outcome;
}

/** Returns the `version` of the install request, which is the tag of a name without one. */
function versionOf({ source, tag }: SkillRecord): string | undefined {
  const isTagless = installSource(source)?.kind === 'oci' && parseOciReference(source)?.tag === undefined;
  return isTagless && tag !== 'latest' ? tag : undefined;
}
