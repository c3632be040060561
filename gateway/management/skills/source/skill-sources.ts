import { mkdir } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { readSkillMd, SKILL_FILE } from '../skill-md.ts';
import { contentDigest, fileSizes, readSkillFile } from '../files/read-folder.ts';
import type { DownloadedSkill } from '../collect-skills.ts';
import type { Outbound } from '../../../outbound/fetch.ts';
import type { GitReference } from '../reference/git-reference.ts';
import { installSource, type RegistryName } from '../reference/install-source.ts';
import { isOnLoopback, type OciReference } from '../reference/oci-reference.ts';
import { SkillError } from '../errors.ts';
import type { Download, DownloadDeps, DownloadRequest } from './download.ts';
import { downloadFromGit } from './download-git.ts';
import { downloadFromOci } from './oci/download-oci.ts';
import { matchingEntries, packageOf, type SkillEntry } from './registry-entry.ts';

/** Lists the skills of the registries. */
export type RegistrySkills = () => Promise<readonly SkillEntry[]>;

export interface SourceRequest extends Omit<DownloadRequest, 'folder'> {
  /** Name of the skill, as the request or `requires` of another skill has it. */
  readonly source: string;
  readonly version?: string | undefined;
  /** Folder for downloads. */
  readonly workFolder: string;
}

interface SkillSourcesDeps extends DownloadDeps {
  /** Reaches loopback as well. */
  readonly localOutbound: Outbound;
  /** Absent without registries. */
  readonly registrySkills?: RegistrySkills | undefined;
}

/** Downloads a skill from the place that a name means: git, an OCI registry, or an entry of a registry of skills. @throws SkillError */
export async function downloadSkill(request: SourceRequest, deps: SkillSourcesDeps): Promise<DownloadedSkill> {
  const { source, version } = request;
  const place = installSource(source, version);
  if (!place) throw new SkillError('invalid_skill_request', invalidName(source));
  const byRegistry = { ...request, isNamedByUser: false }; // a publisher has chosen the host of an entry
  if (place.kind === 'registry') return read(await inRegistry(place, deps), byRegistry, deps);
  const direct = depsFor(place, request, deps);
  if (place.kind === 'git' || place.orElse === undefined) return read(place, request, direct);
  try {
    return await read(place, request, direct);
  } catch (error) {
    const entry = error instanceof SkillError ? await find(place.orElse, deps) : undefined;
    if (!entry) throw error;
    return read(packageOf(entry), byRegistry, deps);
  }
}

/** Allows a loopback registry that the user names, as container engines do. No other skill and no registry entry can name one. */
function depsFor(place: GitReference | OciReference, { isNamedByUser }: SourceRequest, deps: SkillSourcesDeps) {
  const isLocal = place.kind === 'oci' && isNamedByUser && isOnLoopback(place);
  return isLocal ? { ...deps, outbound: deps.localOutbound } : deps;
}

const invalidName = (source: string): string =>
  `"${source.slice(0, 200)}" is no name of a skill, no OCI reference, and no git://HOST/OWNER/REPOSITORY[@REF][#FOLDER]`;

/** Lists the plain names that do not lead to a single skill with a package in the registry. @throws SkillError if it cannot be read */
export async function missingInRegistry(
  names: readonly string[],
  deps: Pick<SkillSourcesDeps, 'registrySkills'>,
): Promise<string[]> {
  const plain = names.flatMap((name) => {
    const place = installSource(name);
    return place?.kind === 'registry' ? [{ name, place }] : [];
  });
  const skills = plain.length > 0 ? await listRegistrySkills(deps) : [];
  return plain.flatMap(({ name, place }) => (matchingEntries(skills, place).length === 1 ? [] : [name]));
}

async function inRegistry(name: RegistryName, deps: SkillSourcesDeps): Promise<OciReference | GitReference> {
  const entry = await find(name, deps);
  if (entry) return packageOf(entry);
  throw new SkillError('skill_not_found', `no registry has a skill "${name.name}": check its name, or name its source`);
}

const listRegistrySkills = async ({
  registrySkills,
}: Pick<SkillSourcesDeps, 'registrySkills'>): Promise<readonly SkillEntry[]> =>
  (await registrySkills?.().catch((error: unknown) => {
    throw new SkillError('source_failed', `the registry cannot be read: ${(error as Error).message}`);
  })) ?? [];

async function find(wanted: RegistryName, deps: SkillSourcesDeps): Promise<SkillEntry | undefined> {
  const entries = matchingEntries(await listRegistrySkills(deps), wanted);
  if (entries.length < 2) return entries[0];
  const names = entries.map(({ namespace, name }) => `${namespace}/${name}`).join(', ');
  throw new SkillError('skill_conflict', `several skills have the name "${wanted.name}": choose one of ${names}`);
}

async function read(
  reference: OciReference | GitReference,
  { workFolder, version = '', ...request }: SourceRequest,
  deps: DownloadDeps,
): Promise<DownloadedSkill> {
  const folder = join(workFolder, randomUUID());
  await mkdir(folder, { mode: 0o700 });
  const download = await fetchFiles(reference, { ...request, folder }, deps);
  const { metadata, requires } = await documentIn(folder, download);
  if (reference.kind === 'oci') checkRepository(reference, metadata.name);
  else checkGitFolder(reference, metadata.name);
  return {
    ...download,
    metadata: { ...metadata, version: metadata.version || version },
    requires,
    folder,
    contentDigest: await contentDigest(folder),
    bytes: [...(await fileSizes(folder)).values()].reduce((total, size) => total + size, 0),
  };
}

const fetchFiles = (
  reference: OciReference | GitReference,
  request: DownloadRequest,
  deps: DownloadDeps,
): Promise<Download> =>
  reference.kind === 'git' ? downloadFromGit(reference, request, deps) : downloadFromOci(reference, request, deps);

async function documentIn(folder: string, { reference }: Download) {
  const text = await readSkillFile(folder).catch(() => undefined);
  if (text === undefined) throw new SkillError('unusable_skill', `${reference} has no ${SKILL_FILE} at its top`);
  const { document, errors } = readSkillMd(text);
  if (document && errors.length === 0) return document;
  throw new SkillError('unusable_skill', `${reference}: ${errors.join('; ')}`);
}

function checkRepository({ repository }: OciReference, name: string): void {
  if (repository === name || repository.endsWith(`/${name}`)) return;
  throw new SkillError('unusable_skill', `the ${SKILL_FILE} in "${repository}" has another name, "${name}"`);
}

/** A repository may have another name than the skill at its top. */
function checkGitFolder({ folder = '' }: GitReference, name: string): void {
  const own = folder.split('/').at(-1) ?? '';
  if (own === '' || own === name) return;
  throw new SkillError('unusable_skill', `${SKILL_FILE}: name "${name}" is not the name of the folder, "${own}"`);
}
