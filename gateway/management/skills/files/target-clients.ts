import type { UserFolders } from '../../clients/config-file.ts';
import { installedMarkOf } from '../../clients/config-file.ts';
import { SkillError } from '../skill-error.ts';
import { SKILL_CLIENTS } from './client-folders.ts';
import { isThere } from './read-folder.ts';

const ALL = 'all';

/** Returns the types of the clients that get a skill: the requested ones, or else every one that is installed here. @throws SkillError */
export async function targetClients(requested: readonly string[] = [], folders: UserFolders): Promise<string[]> {
  if (requested.length === 0 || requested.every((type) => type === ALL)) return detectedClients(folders);
  for (const type of requested) {
    if (type === ALL) throw invalid(`clients must be ["${ALL}"] alone, or types of clients`);
    if (SKILL_CLIENTS.some((client) => client.type === type)) continue;
    throw invalid(
      `"${type.slice(0, 100)}" is no client that reads skills: GET /api/v1beta/discovery/clients lists them`,
    );
  }
  return [...new Set(requested)];
}

async function detectedClients(folders: UserFolders): Promise<string[]> {
  const marks = await Promise.all(SKILL_CLIENTS.map((client) => isThere(installedMarkOf(client, folders))));
  const detected = SKILL_CLIENTS.filter((_, index) => marks[index]).map(({ type }) => type);
  if (detected.length > 0) return detected;
  throw invalid('no client that reads skills was found on this machine: name the clients in "clients"');
}

const invalid = (detail: string): SkillError => new SkillError('invalid_skill_request', detail);
