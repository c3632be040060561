/** Facts that decide what an installation writes. */
export interface InstallFacts {
  /** Record of the skill; undefined when it is not installed. */
  readonly recorded:
    | { readonly digest: string; readonly content_digest: string; readonly clients: readonly string[] }
    | undefined;
  readonly digest: string;
  /** Digest of the files. Those of one source change with the rules that leave files out. */
  readonly contentDigest: string;
  /** Types of the clients that get the skill. */
  readonly clients: readonly string[];
  /** Returns the folder of the skill for a client. Clients may share a folder. */
  readonly folderOf: (client: string) => string;
  /** Folders of the clients, also of earlier ones, that exist. */
  readonly existing: ReadonlySet<string>;
  readonly force: boolean;
}

export interface InstallPlan {
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
