import { lookup as systemLookup } from 'node:dns';
import { rmSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Static } from 'typebox';
import { createOutbound } from '../../outbound/fetch.ts';
import type { OutboundPolicy } from '../../outbound/policy.ts';
import type { UserFolders } from '../clients/config-file.ts';
import { DEFAULT_GROUP, requireGroup, type Groups } from '../groups/groups.ts';
import { checkFolder, type SkillCheck } from './check-folder.ts';
import { isSkillName, SKILL_NAME_RULE } from './reference/install-source.ts';
import { pathExists } from './files/read-folder.ts';
import { targetClients } from './files/client-folders.ts';
import { applyInstall, applyUninstall, type InstallDeps } from './apply-install.ts';
import { collectSkills, leftOutBy, type CollectedSkill, type DownloadedSkill } from './collect-skills.ts';
import type { Scope, SkillInstall, SkillRecord } from './shapes.ts';
import { resolvePlace, type SkillPlace } from './place.ts';
import { readContent, type SkillContent } from './read-content.ts';
import { SkillError } from './errors.ts';
import { SkillStore } from './skill-store.ts';
import { downloadSkill, missingInRegistry, type RegistrySkills, type SourceRequest } from './source/skill-sources.ts';
import { upgradeSkills, type SkillUpgrade, type UpgradeOutcome } from './upgrade-skills.ts';
import { SerialQueue } from '../../kit/tasks.ts';

interface SkillsOptions {
  readonly stateDir: string;
  readonly folders: UserFolders;
  readonly groups: Groups;
  /** Environment of the process: tokens of sources, and the PATH on which programs are found. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** ms since the epoch. */
  readonly now: () => number;
  /** Lists the skills of registries; absent without registries. */
  readonly registrySkills?: RegistrySkills | undefined;
  /** Allows sources on private and loopback addresses; http on loopback only. An OCI registry on loopback needs no permission. */
  readonly allowPrivateIp?: boolean | undefined;
}

interface SkillFilter {
  readonly scope?: Scope;
  readonly project_root?: string;
  readonly client?: string;
  readonly group?: string;
}

type Downloader = (request: Omit<SourceRequest, 'workFolder' | 'signal'>) => Promise<DownloadedSkill>;
type PlaceChoice = Pick<SkillFilter, 'scope' | 'project_root'>;

/** Installs skills for the clients of this machine, and records them. */
export class Skills {
  readonly #options: SkillsOptions;
  readonly #store: SkillStore;
  readonly #workFolder: string;
  readonly #policy: OutboundPolicy;
  readonly #deps: InstallDeps;
  /** Settles when all queued changes are done. */
  readonly #changes = new SerialQueue();

  constructor(options: SkillsOptions) {
    const isPrivateAllowed = options.allowPrivateIp === true;
    this.#options = options;
    this.#store = new SkillStore(options.stateDir);
    this.#deps = { store: this.#store, now: options.now };
    this.#policy = { allowPrivate: isPrivateAllowed, allowLoopback: isPrivateAllowed, allowHttp: false };
    this.#workFolder = join(options.stateDir, 'skill-downloads');
    rmSync(this.#workFolder, { recursive: true, force: true }); // a crash may have left downloads
  }

  /** Lists installed skills, sorted by name. Throws `group_not_found` and `invalid_skill_request`. */
  async list({ scope, project_root: project, client, group }: SkillFilter): Promise<SkillRecord[]> {
    const place =
      project === undefined ? undefined : await this.#place({ scope: scope ?? 'project', project_root: project });
    const members = group === undefined ? undefined : requireGroup(await this.#options.groups.read(), group).skills;
    return (await this.#store.list()).filter(
      (skill) =>
        (scope === undefined || skill.scope === scope) &&
        (place === undefined || skill.project_root === place.project_root) &&
        (client === undefined || skill.clients.includes(client)) &&
        (members === undefined || members.includes(skill.metadata.name)),
    );
  }

  /** Throws `skill_not_found` and `invalid_skill_request`. */
  async get(name: string, choice: PlaceChoice): Promise<SkillRecord> {
    checkName(name);
    const records = await this.#store.listIn(await this.#place(choice));
    const record = records.find(({ metadata }) => metadata.name === name);
    if (record) return record;
    throw notInstalled(name);
  }

  /** Checks the skill in a folder of this machine. Throws `invalid_skill_request`. */
  check(path: string): Promise<SkillCheck> {
    return checkFolder(path, (names) => missingInRegistry(names, this.#options));
  }

  /** Installs a skill and its dependencies, or nothing. Returns also the paths that they are installed without. Throws `SkillError`. */
  async install(request: SkillInstall, signal: AbortSignal): Promise<{ record: SkillRecord; leftOut: string[] }> {
    const { group = DEFAULT_GROUP, force = false } = request;
    const place = await this.#place(chosenPlace(request));
    const clients = await targetClients(request.clients, this.#options.folders);
    requireGroup(await this.#options.groups.read(), group);
    return this.#withSources(signal, async (download) => {
      const skills = await collectSkills(request.name, (source, isDependency) =>
        download({ source, version: isDependency ? undefined : request.version, isNamedByUser: !isDependency }),
      );
      checkSignatures(request, place);
      const finish = (removed: readonly SkillRecord[]): Promise<void> => this.#regroup([group], skills, removed);
      const record = await this.#changes.run(() => {
        signal.throwIfAborted();
        return applyInstall({ place, skills, clients, force, canMove: force, isExplicit: true, finish }, this.#deps);
      });
      return { record, leftOut: leftOutBy(skills) };
    });
  }

  /** Upgrades skills to the present content of their sources. Throws `skill_not_found` and `invalid_skill_request`. */
  async upgrade(request: SkillUpgrade, signal: AbortSignal): Promise<UpgradeOutcome[]> {
    const place = await this.#place(chosenPlace(request));
    const installed = await this.#store.listIn(place);
    const { names = installed.map(({ metadata }) => metadata.name) } = request;
    names.forEach(checkName);
    const missing = names.find((name) => !installed.some(({ metadata }) => metadata.name === name));
    if (missing !== undefined) throw notInstalled(missing);
    const chosen = installed.filter(({ metadata }) => names.includes(metadata.name));
    const apply = (record: SkillRecord, skills: readonly CollectedSkill[]): Promise<unknown> =>
      this.#changes.run(() => {
        signal.throwIfAborted();
        return this.#replace(place, record, skills);
      });
    const present = (): Promise<SkillRecord[]> => this.#store.listIn(place);
    return this.#withSources(signal, (download) =>
      upgradeSkills(chosen, request, { download, installed: present, apply }, signal),
    );
  }

  /** Installs new files of a skill for its clients. Rejects if the skill was changed after `record` was read, unless it has these files. */
  async #replace(place: SkillPlace, record: SkillRecord, skills: readonly CollectedSkill[]): Promise<void> {
    const { clients, digest, explicit: isExplicit } = record;
    const { name } = record.metadata;
    const present = (await this.#store.listIn(place)).find(({ metadata }) => metadata.name === name);
    if (!present) throw notInstalled(name);
    if (present.digest === skills.at(-1)?.digest) return;
    if (present.digest !== digest) throw new SkillError('skill_conflict', 'the skill has just changed: try again');
    const { groups } = await this.#options.groups.read();
    const own = Object.keys(groups).filter((group) => groups[group]?.skills.includes(name));
    const finish = (removed: readonly SkillRecord[]): Promise<void> => this.#regroup(own, skills, removed);
    const job = { place, skills, clients, force: false, canMove: true, isExplicit, finish }; // moves were checked before
    await applyInstall(job, this.#deps);
  }

  /** Returns the text of a skill without installing it. Throws `SkillError`. */
  content(source: string, signal: AbortSignal): Promise<Static<typeof SkillContent>> {
    return this.#withSources(signal, async (download) => readContent(await download({ source, isNamedByUser: true })));
  }

  /** Removes a skill, and the dependencies that no other skill needs. Throws `skill_not_found` and `invalid_skill_request`. */
  async uninstall(name: string, choice: PlaceChoice): Promise<void> {
    checkName(name);
    const place = (await this.#vanishedPlace(choice)) ?? (await this.#place(choice));
    const finish = (removed: readonly SkillRecord[]): Promise<void> => this.#regroup([], [], removed);
    await this.#changes.run(() => applyUninstall({ place, name, finish }, this.#deps));
  }

  /** Adds skills to groups. Removes from all groups the skills that are not installed anywhere any more. */
  async #regroup(
    names: readonly string[],
    added: readonly CollectedSkill[],
    removed: readonly SkillRecord[],
  ): Promise<void> {
    const { groups } = this.#options;
    for (const group of names) for (const { metadata } of added) await groups.addSkill(group, metadata.name);
    const left = new Set((await this.#store.list()).map(({ metadata }) => metadata.name));
    for (const { metadata } of removed) if (!left.has(metadata.name)) await groups.removeSkill(metadata.name);
  }

  /** Returns the place of a project that has skills and whose folder is gone: its records must be removable. */
  async #vanishedPlace({ scope, project_root: project }: PlaceChoice): Promise<SkillPlace | undefined> {
    if (scope !== 'project' || project === undefined || (await pathExists(project))) return undefined;
    const root = resolve(project);
    const isKnown = (await this.#store.list()).some((record) => record.project_root === root);
    return isKnown ? { scope, root, project_root: root } : undefined;
  }

  #place(choice: PlaceChoice): Promise<SkillPlace> {
    return resolvePlace(choice, this.#options.folders.home);
  }

  /** Runs a task that downloads skills into a folder, which is deleted afterwards. */
  async #withSources<Result>(signal: AbortSignal, run: (download: Downloader) => Promise<Result>): Promise<Result> {
    const { env, folders, registrySkills } = this.#options;
    await mkdir(this.#workFolder, { recursive: true, mode: 0o700 });
    const workFolder = await mkdtemp(join(this.#workFolder, 'skill-'));
    const outbound = createOutbound({ policy: this.#policy });
    const localOutbound = createOutbound({ policy: { ...this.#policy, allowLoopback: true } });
    const deps = {
      outbound,
      localOutbound,
      policy: this.#policy,
      lookup: systemLookup,
      env,
      home: folders.home,
      registrySkills,
    };
    try {
      return await run((request) => downloadSkill({ ...request, workFolder, signal }, deps));
    } finally {
      await Promise.all([outbound.close(), localOutbound.close()]);
      await rm(workFolder, { recursive: true, force: true });
    }
  }
}

/** Returns the choice with its default: without `scope` a request with `project_root` has the scope `project`. */
const chosenPlace = ({ scope, project_root: project }: PlaceChoice): PlaceChoice => ({
  scope: scope ?? (project === undefined ? 'user' : 'project'),
  ...(project !== undefined && { project_root: project }),
});

const notInstalled = (name: string): SkillError =>
  new SkillError('skill_not_found', `the skill "${name}" is not installed here`);

function checkName(name: string): void {
  if (!isSkillName(name)) throw new SkillError('invalid_skill_request', `the name of a skill ${SKILL_NAME_RULE}`);
}

/** Rejects requests that need a verified signature: vmcp cannot verify signatures yet, so every skill counts as unsigned. */
function checkSignatures(
  { public_key: key, allow_unsigned: allowUnsigned }: SkillInstall,
  { scope }: SkillPlace,
): void {
  if (key !== undefined) {
    throw new SkillError('signature_required', 'signatures cannot be verified yet: leave "public_key" out');
  }
  if (scope === 'user' || allowUnsigned === true) return;
  const detail = 'signatures cannot be verified yet: set "allow_unsigned" to install the skill into a project';
  throw new SkillError('signature_required', detail);
}
