import { join } from 'node:path';
import { ownedPath, removeOrphanedEntries } from './owned-entries.ts';

const folder = (stateDir: string): string => join(stateDir, 'networks');

/** Returns the path of a new folder for the sockets of an isolated network. It belongs to this process. */
export const networkFolder = (stateDir: string): string => ownedPath(folder(stateDir));

/** Removes the folders of processes that are gone. */
export const removeOrphanedNetworks = (stateDir: string): void => {
  removeOrphanedEntries(folder(stateDir));
};
