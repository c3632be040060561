import { dirname } from 'node:path';
import { folderForClient } from '../files/client-folders.ts';
import { checkRemovable, placeFolder, removeFolder, type FolderChange } from '../files/change-folder.ts';
import { isThere } from '../files/read-folder.ts';
import type { SkillRecord } from '../installed-skill.ts';
import { openProjectLock } from '../lock/project-lock.ts';
import type { Place } from '../place.ts';
import { hasMoved } from '../reference/same-repository.ts';
import { SkillError } from '../skill-error.ts';
import type { SkillStore } from '../skill-store.ts';
import type { CollectedSkill } from './collect-skills.ts';
import { nextRecord } from './next-record.ts';
import { orphans } from '../orphans.ts';
import { planInstall, type InstallPlan } from './plan-install.ts';
import { Undo } from './undo.ts';

export interface InstallDeps {
  readonly store: SkillStore;
  /** ms since the epoch. */
  readonly now: () => number;
}

/** Change of the skills of the user or of one project. */
interface Change {
  readonly place: Place;
  readonly before: readonly SkillRecord[];
  readonly after: readonly SkillRecord[];
  /** Folders to write, with the folder that each is copied from. */
  readonly write: ReadonlyMap<string, string>;
  readonly removed: readonly SkillRecord[];
}

export interface InstallJob {
  readonly place: Place;
  /** Dependencies first, the requested skill last. */
  readonly skills: readonly CollectedSkill[];
  readonly clients: readonly string[];
  readonly force: boolean;
  /** Lets a skill that the requested one needs replace an installed one of another repository. */
  readonly canMove: boolean;
  /** False for a skill that only other skills need. */
  readonly isExplicit: boolean;
  /** Last step of the operation. If it throws, all changes are undone. */
  readonly finish: (removed: readonly SkillRecord[]) => Promise<void>;
}

/** Installs skills, or leaves everything as it was. Returns the record of the requested skill. @throws SkillError */
export async function applyInstall(job: InstallJob, deps: InstallDeps): Promise<SkillRecord> {
  const { place, skills } = job;
  const now = new Date(deps.now()).toISOString();
  const before = await deps.store.listIn(place);
  const known = new Map(before.map((record) => [record.metadata.name, record]));
  const write = new Map<string, string>();
  if (!job.canMove) checkMoves(skills.slice(0, -1), known);
  for (const skill of skills) {
    const { name } = skill.metadata;
    const recorded = known.get(name);
    const plan = await planFor(job, skill, recorded);
    for (const folder of plan.write) write.set(folder, skill.folder);
    known.set(
      name,
      nextRecord(skill, recorded, { plan, place, isExplicit: job.isExplicit && skill === skills.at(-1), now }),
    );
  }
  const removed = orphans([...known.values()]);
  const after = [...known.values()].filter((record) => !removed.includes(record));
  await applyChange({ place, before, after, write, removed }, () => job.finish(removed), deps);
  const record = known.get(skills.at(-1)?.metadata.name ?? '');
  if (!record) throw new Error('the requested skill has no record after its installation');
  return record;
}

/** Removes a skill and the dependencies that no other skill needs, or leaves everything as it was. */
export async function applyUninstall(
  { place, name, finish }: { place: Place; name: string; finish: (removed: readonly SkillRecord[]) => Promise<void> },
  deps: InstallDeps,
): Promise<void> {
  const before = await deps.store.listIn(place);
  const asked = before.find(({ metadata }) => metadata.name === name);
  if (!asked) throw new SkillError('skill_not_found', `the skill "${name}" is not installed here`);
  const rest = before.filter((record) => record !== asked);
  const removed = [asked, ...orphans(rest)];
  const after = rest.filter((record) => !removed.includes(record));
  await applyChange({ place, before, after, write: new Map(), removed }, () => finish(removed), deps);
}

/** Rejects a needed skill that would silently replace what the user has installed from another repository. */
function checkMoves(needed: readonly CollectedSkill[], known: ReadonlyMap<string, SkillRecord>): void {
  for (const skill of needed) {
    const { name } = skill.metadata;
    const before = known.get(name);
    if (before === undefined || !hasMoved(before, skill)) continue;
    const places = `${skill.reference}, but ${before.reference} is installed`;
    throw new SkillError('skill_conflict', `it needs "${name}" of ${places}: uninstall that one, or set "force"`);
  }
}

async function planFor(
  { place, clients, force }: InstallJob,
  skill: CollectedSkill,
  recorded?: SkillRecord,
): Promise<InstallPlan> {
  const { name } = skill.metadata;
  const folderOf = (client: string): string => folderForClient(client, place, name);
  const folders = [...new Set([...(recorded?.clients ?? []), ...clients].map(folderOf))];
  const there = await Promise.all(folders.map(isThere));
  const existing = new Set(folders.filter((_, index) => there[index]));
  const plan = planInstall({
    ...{ recorded, digest: skill.digest, contentDigest: skill.contentDigest },
    ...{ clients, folderOf, existing, force },
  });
  if (plan.conflicts.length === 0) return plan;
  const places = plan.conflicts.join(', ');
  throw new SkillError('skill_conflict', `${places} exists and is not managed by vmcp: remove it, or set "force"`);
}

async function applyChange(change: Change, finish: () => Promise<void>, { store, now }: InstallDeps): Promise<void> {
  const { place, before, after, write, removed } = change;
  const hasLock = place.project_root !== undefined && (await isThere(place.root));
  const lock = hasLock ? openProjectLock(place.root) : undefined;
  const gone = new Set(removed.flatMap((record) => foldersOf(record, place)));
  for (const folder of gone) await checkRemovable(place.root, folder);
  const folders: FolderChange[] = [];
  const undo = new Undo();
  const track = (folder: FolderChange): void => {
    folders.push(folder);
    undo.add(() => folder.undo());
  };
  try {
    for (const [target, source] of write) track(await placeFolder(place.root, target, source));
    for (const folder of gone) track(await removeFolder(place.root, folder, keptFolder(place, folder)));
    undo.add(() => lock?.restore(now()));
    lock?.write(after, new Set(removed.map(({ metadata }) => metadata.name)), now());
    undo.add(() => store.replaceIn(place, before));
    await store.replaceIn(place, after);
    await finish();
  } catch (error) {
    const failures = await undo.run();
    throw failures.length === 0 ? error : new AggregateError([error, ...failures], 'not everything could be restored');
  }
  for (const folder of folders) await folder.keep();
}

/**
 * Returns the folder above which no empty parent is removed. In the home folder that is the client's own folder, because its
 * presence means that the client is installed. In a project the client's folder is removed too.
 */
const keptFolder = ({ scope, root }: Place, folder: string): string =>
  scope === 'user' ? dirname(dirname(folder)) : root;

const foldersOf = ({ clients, metadata }: SkillRecord, place: Place): string[] =>
  clients.map((client) => folderForClient(client, place, metadata.name));
