import { join } from 'node:path';
import type { Client } from '../../clients/client.ts';
import { CLIENTS } from '../../clients/clients.ts';
import type { Scope } from '../installed-skill.ts';

/** Clients that read skills. */
export const SKILL_CLIENTS: readonly Client[] = CLIENTS.filter(({ skills }) => skills !== undefined);

/** Returns the folder of a skill for a client; undefined for a client that reads no skills. `root` is the home or the project. */
export function folderForClient(type: string, scope: Scope, root: string, name: string): string | undefined {
  const skills = SKILL_CLIENTS.find((client) => client.type === type)?.skills;
  return skills && join(root, ...skills[scope].split('/'), name);
}
