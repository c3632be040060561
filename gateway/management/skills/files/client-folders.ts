import { join } from 'node:path';
import type { McpClient } from '../../clients/client.ts';
import { CLIENTS } from '../../clients/clients.ts';
import { installedMarkOf, type UserFolders } from '../../clients/config-file.ts';
import { SkillError } from '../errors.ts';
import type { SkillPlace } from '../place.ts';
import { pathExists } from './read-folder.ts';

/** Clients that read skills. */
const SKILL_CLIENTS: readonly McpClient[] = CLIENTS.filter(({ skills }) => skills !== undefined);

/** Returns the folder of a skill for a client that reads skills. */
export function folderForClient(type: string, { scope, root }: SkillPlace, name: string): string {
  const skills = SKILL_CLIENTS.find((client) => client.type === type)?.skills;
  if (!skills) throw new Error(`the client "${type}" reads no skills`);
  return join(root, ...skills[scope].split('/'), name);
}

const ALL = 'all';

/** Returns the types of the clients that get a skill: the requested types, else those of all clients that are installed here. @throws SkillError */
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
  const marks = await Promise.all(SKILL_CLIENTS.map((client) => pathExists(installedMarkOf(client, folders))));
  const detected = SKILL_CLIENTS.filter((_, index) => marks[index]).map(({ type }) => type);
  if (detected.length > 0) return detected;
  throw invalid('no client that reads skills was found on this machine: name the clients in "clients"');
}

const invalid = (detail: string): SkillError => new SkillError('invalid_skill_request', detail);
