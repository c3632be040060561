import { join } from 'node:path';
import type { Client } from '../../clients/client.ts';
import { CLIENTS } from '../../clients/clients.ts';
import type { Place } from '../place.ts';

/** Clients that read skills. */
export const SKILL_CLIENTS: readonly Client[] = CLIENTS.filter(({ skills }) => skills !== undefined);

/** Returns the folder of a skill for a client that reads skills. */
export function folderForClient(type: string, { scope, root }: Place, name: string): string {
  const skills = SKILL_CLIENTS.find((client) => client.type === type)?.skills;
  if (!skills) throw new Error(`the client "${type}" reads no skills`);
  return join(root, ...skills[scope].split('/'), name);
}
