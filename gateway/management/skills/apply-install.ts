import { dirname } from 'node:path';
import type { CollectedSkill } from './collect-skills.ts';
import { SkillError } from './errors.ts';
import { checkRemovable, placeFolder, removeFolder, type FolderChange } from './files/change-folder.ts';
import { folderForClient } from './files/client-folders.ts';
import { pathExists } from './files/read-folder.ts';
import { orphans } from './orphans.ts';
import type { SkillPlace } from './place.ts';
import { openProjectLock } from './project-lock.ts';
import { hasMoved } from './reference/install-source.ts';
import type { SkillRecord } from './shapes.ts';
import type { SkillStore } from './skill-store.ts';

export interface InstallDeps {
  readonly store: SkillStore;
  /** ms since the epoch. */
  readonly now: () => number;
}

/** Change of the skills of the user or of one project. */
interface Change {
  readonly place: SkillPlace;
  readonly before: readonly SkillRecord[];
  readonly after: readonly SkillRecord[];
  /** Folders to write, with the folder that each is copied from. */
  readonly write: ReadonlyMap<string, string>;
  readonly removed: readonly SkillRecord[];
}

interface InstallJob {
  readonly place: SkillPlace;
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
  {
    place,
    name,
    finish,
  }: { place: SkillPlace; name: string; finish: (removed: readonly SkillRecord[]) => Promise<void> },
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
  const there = await Promise.all(folders.map(pathExists));
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
  const hasLock = place.project_root !== undefined && (await pathExists(place.root));
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
const keptFolder = ({ scope, root }: SkillPlace, folder: string): string =>
  scope === 'user' ? dirname(dirname(folder)) : root;

const foldersOf = ({ clients, metadata }: SkillRecord, place: SkillPlace): string[] =>
  clients.map((client) => folderForClient(client, place, metadata.name));

/** Facts that decide what an installation writes. */
export interface InstallFacts {
  /** Record of the skill; undefined when it is not installed. */
  readonly recorded:
    | { readonly digest: string; readonly content_digest: string; readonly clients: readonly string[] }
    | undefined;
  readonly digest: string;
  /** Digest of the files. The files of a source change with the rules that leave files out. */
  readonly contentDigest: string;
  /** Types of the clients that get the skill. */
  readonly clients: readonly string[];
  /** Returns the folder of the skill for a client. Clients may share a folder. */
  readonly folderOf: (client: string) => string;
  /** Folders of present and earlier clients that exist. */
  readonly existing: ReadonlySet<string>;
  readonly force: boolean;
}

interface InstallPlan {
  /** Folders to write, without repetitions. */
  readonly write: readonly string[];
  /** Existing folders that vmcp does not manage. They block the installation. */
  readonly conflicts: readonly string[];
  /** Clients that have the skill afterwards. */
  readonly clients: readonly string[];
}

/**
 * Decides which folders an installation writes. Folders that the record covers are managed by vmcp; those that are missing, after a
 * crash or because the user has deleted them, are written again.
 */
export function planInstall(facts: InstallFacts): InstallPlan {
  const { recorded, digest, contentDigest, folderOf, existing, force } = facts;
  const clients = [...new Set([...(recorded?.clients ?? []), ...facts.clients])].toSorted();
  const managed = new Set((recorded?.clients ?? []).map(folderOf));
  const all = [...new Set(clients.map(folderOf))];
  const added = all.filter((folder) => !managed.has(folder));
  const isSame = recorded?.digest === digest && recorded.content_digest === contentDigest;
  return {
    write: isSame ? all.filter((folder) => added.includes(folder) || !existing.has(folder)) : all,
    conflicts: force ? [] : added.filter((folder) => existing.has(folder)),
    clients,
  };
}

/** Returns the record of a skill after its installation. The time changes only when files are written. `now` is in RFC 3339. */
function nextRecord(
  skill: CollectedSkill,
  before: SkillRecord | undefined,
  { plan, place, isExplicit, now }: { plan: InstallPlan; place: SkillPlace; isExplicit: boolean; now: string },
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

/** Steps that undo the changes of an operation, in reverse order. */
class Undo {
  readonly #steps: (() => void | Promise<void>)[] = [];

  add(step: () => void | Promise<void>): void {
    this.#steps.push(step);
  }

  /** Undoes all changes. After a step that fails, the other steps still run. Returns the failures. */
  async run(): Promise<unknown[]> {
    const failures: unknown[] = [];
    for (const step of this.#steps.splice(0).reverse()) {
      try {
        await step();
      } catch (error) {
        failures.push(error);
      }
    }
    return failures;
  }
}
