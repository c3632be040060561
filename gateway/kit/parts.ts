/** Another configuration of a part, ready to be used. */
export interface Change {
  /** Takes effect at once. Resolves when what it replaced has ended. */
  apply(): void | Promise<void>;
  /** Ends what was prepared. The part keeps its configuration. */
  discard(): void | Promise<void>;
}

/** Part of a server. It outlives configurations. */
export interface Part<Config> {
  /** Prepares the first configuration or its successor. Rejects when it cannot be used. */
  prepare(config: Config): Change | Promise<Change>;
  /** Ends what is in use, if anything. `end` is the time by which it should have ended, in ms of `performance.now()`. */
  close(end: number): void | Promise<void>;
}

export const NO_CHANGE: Change = { apply: () => undefined, discard: () => undefined };

/** Opens each part after those before it. Closes all of them and rejects when a part cannot be opened. */
export async function openParts<Config>(parts: readonly Part<Config>[], config: Config): Promise<void> {
  try {
    for (const part of parts) await (await part.prepare(config)).apply();
  } catch (error) {
    await closeParts(parts, performance.now());
    throw error;
  }
}

/** Changes all parts. Changes no part and rejects when a part cannot use the configuration. */
export async function changeParts<Config>(parts: readonly Part<Config>[], config: Config): Promise<void> {
  const changes: Change[] = [];
  try {
    for (const part of parts) changes.push(await part.prepare(config));
  } catch (error) {
    for (const change of changes.toReversed()) await change.discard();
    throw error;
  }
  await Promise.all(changes.map(async (change) => change.apply()));
}

/** Closes the parts in reverse order. */
export async function closeParts<Config>(parts: readonly Part<Config>[], end: number): Promise<void> {
  for (const part of parts.toReversed()) await part.close(end);
}

/** Returns the part with another error in place of each rejection. `refuse` throws it. */
export const refusing = <Config>(part: Part<Config>, refuse: (error: unknown) => never): Part<Config> => ({
  prepare: async (config) => {
    try {
      return await part.prepare(config);
    } catch (error) {
      return refuse(error);
    }
  },
  close: (end) => part.close(end),
});
