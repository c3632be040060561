import { open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';

/** A file of the state cannot be read or does not have its shape. The message names the file. */
export class StateFileError extends Error {
  constructor(path: string, what: string, advice: string, cause?: unknown) {
    super(`${path} ${what}: ${advice}`, { cause });
    this.name = 'StateFileError';
  }
}

/**
 * A JSON document in the state folder, which belongs to this process alone. Changes happen one after the other. Once `update`
 * resolves, the change survives a crash; a crash before that leaves the old document.
 */
export class StateFile<Schema extends TSchema> {
  readonly #path: string;
  readonly #schema: Schema;
  readonly #empty: Static<Schema>;
  /** Settles when all queued changes are done. */
  #tail: Promise<unknown> = Promise.resolve();

  /** `empty` is the document while there is no file. */
  constructor(path: string, schema: Schema, empty: Static<Schema>) {
    this.#path = path;
    this.#schema = schema;
    this.#empty = empty;
  }

  /** Reads the document with all changes that were requested before. @throws StateFileError */
  read(): Promise<Static<Schema>> {
    return this.#inTurn(() => this.#load());
  }

  /**
   * Replaces the document by the result of `change`. Nothing is written if `change` throws or returns what it received.
   * @throws StateFileError, and what `change` throws
   */
  update(change: (document: Static<Schema>) => Static<Schema> | Promise<Static<Schema>>): Promise<Static<Schema>> {
    return this.#inTurn(async () => {
      const before = await this.#load();
      const after = await change(before);
      if (after !== before) await writeDurably(this.#path, `${JSON.stringify(after, undefined, 2)}\n`);
      return after;
    });
  }

  #inTurn<Result>(run: () => Promise<Result>): Promise<Result> {
    const result = this.#tail.then(run);
    this.#tail = result.catch(() => undefined);
    return result;
  }

  async #load(): Promise<Static<Schema>> {
    let text: string;
    try {
      text = await readFile(this.#path, 'utf8');
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return this.#empty;
      throw new StateFileError(
        this.#path,
        `cannot be read (${code ?? 'unknown error'})`,
        'check its permissions',
        error,
      );
    }
    const document = parsed(text);
    if (Value.Check(this.#schema, document)) return document;
    const advice = 'restore it from a backup, or delete it to start without its content';
    throw new StateFileError(this.#path, 'is damaged or comes from another version', advice);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Replaces the content of a private file. A crash leaves the old or the new content, and after the return the new one. */
export async function writeDurably(path: string, content: string | Uint8Array): Promise<void> {
  const draft = `${path}.draft`; // a crash leaves at most this file, which the next write replaces
  try {
    await writeSynced(draft, content);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined); // on a full disk even a draft is in the way
    throw error;
  }
  await syncFolder(dirname(path));
}

async function writeSynced(path: string, content: string | Uint8Array): Promise<void> {
  const file = await open(path, 'w', 0o600);
  try {
    await file.chmod(0o600);
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes renames in a folder durable. Windows cannot open a folder and does not need it. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
