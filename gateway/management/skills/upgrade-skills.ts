import { Type, type Static } from 'typebox';
import { OperationError } from '../../http/endpoint/request-error.ts';
import { collectSkills, leftOutBy, type CollectedSkill, type DownloadedSkill } from './collect-skills.ts';
import { SkillError } from './errors.ts';
import { parseGitReference } from './reference/git-reference.ts';
import { hasMoved, installSource, isSameRepository } from './reference/install-source.ts';
import { parseOciReference } from './reference/oci-reference.ts';
import { PlaceSchema, type SkillRecord } from './shapes.ts';

const STATUSES = ['upgraded', 'up-to-date', 'not-upgradable', 'ref-change-blocked', 'failed'] as const;
type UpgradeStatus = (typeof STATUSES)[number];

export const SkillUpgrade = Type.Object(
  {
    ...PlaceSchema.properties,
    names: Type.Optional(Type.Array(Type.String(), { description: 'Skills to upgrade; all of the scope by default.' })),
    preview: Type.Optional(Type.Boolean({ description: 'Reports what would change and changes nothing.' })),
    allow_ref_change: Type.Optional(
      Type.Boolean({ description: 'Accepts a skill whose registry entry now names another repository.' }),
    ),
  },
  { title: 'SkillUpgrade' },
);
export type SkillUpgrade = Static<typeof SkillUpgrade>;

export const UpgradeOutcome = Type.Object(
  {
    name: Type.String({ description: 'Name of the skill.' }),
    status: Type.Enum([...STATUSES], {
      description:
        '`not-upgradable`: its source is a digest or a commit. `ref-change-blocked`: its source, or that of a skill that it needs, is another repository now.',
    }),
    old_digest: Type.String({ description: 'Digest that is installed.' }),
    new_digest: Type.Optional(Type.String({ description: 'Digest that the source has now.' })),
    new_resolved_reference: Type.Optional(Type.String({ description: 'Reference that leads to the new files.' })),
    left_out: Type.Optional(
      Type.Array(Type.String(), {
        description: 'Files and folders of the source that are not installed, as `SKILL/PATH`.',
      }),
    ),
    reason: Type.Optional(Type.String({ description: 'Code of the error of a skill that failed.' })),
    error: Type.Optional(
      Type.String({ description: 'Error of a skill that failed, or the reason why it is blocked.' }),
    ),
  },
  { title: 'SkillUpgradeOutcome', description: 'Result for one skill.' },
);
export type UpgradeOutcome = Static<typeof UpgradeOutcome>;

type Installed = Pick<SkillRecord, 'metadata' | 'reference' | 'digest'>;
type Found = Pick<DownloadedSkill, 'metadata' | 'reference' | 'digest'>;

interface UpgradeFacts {
  /** Skills that the found one needs, which are installed with it. */
  readonly dependencies: readonly Found[];
  /** All skills of the place. */
  readonly installed: readonly Installed[];
  readonly isMoveAllowed: boolean;
}

/** Decides what the present files of its source mean for an installed skill. */
export function upgradeOutcome(
  record: Installed,
  found: Found,
  { dependencies, installed, isMoveAllowed }: UpgradeFacts,
): UpgradeOutcome {
  const facts = { old_digest: record.digest, new_digest: found.digest };
  const outcome = (status: UpgradeStatus): UpgradeOutcome => ({ name: record.metadata.name, status, ...facts });
  if (found.digest === record.digest) return outcome('up-to-date');
  const present = [record, ...installed.filter(({ metadata }) => metadata.name !== record.metadata.name)];
  const moved = isMoveAllowed ? undefined : [found, ...dependencies].find((skill) => isMoved(skill, present));
  const status = moved ? 'ref-change-blocked' : 'upgraded';
  const error =
    moved && moved !== found && `it needs "${moved.metadata.name}" of another repository: ${moved.reference}`;
  return { ...outcome(status), new_resolved_reference: found.reference, ...(error && { error }) };
}

function isMoved(found: Found, installed: readonly Installed[]): boolean {
  const before = installed.find(({ metadata }) => metadata.name === found.metadata.name);
  return before !== undefined && hasMoved(before, found);
}

/** Returns true for a source that always leads to the same files: an artifact by its digest, or a commit. */
export function isImmutable(source: string): boolean {
  const git = parseGitReference(source);
  if (git) return /^[0-9a-f]{40}$/iu.test(git.ref ?? '');
  return parseOciReference(source)?.digest !== undefined;
}

interface UpgradeDeps {
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

/** Returns the tag that was asked for beside a name without a tag. A tag that a registry chose for its package does not count. */
function versionOf({ source, reference, tag }: SkillRecord): string | undefined {
  const isTagless = installSource(source)?.kind === 'oci' && parseOciReference(source)?.tag === undefined;
  return isTagless && isSameRepository(source, reference) && tag !== 'latest' ? tag : undefined;
}
