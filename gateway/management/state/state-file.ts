import { readFile } from 'node:fs/promises';
import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { replaceFile } from '../../kit/files.ts';
import { SerialQueue } from '../../kit/tasks.ts';

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
  readonly #queue = new SerialQueue();

  /** `empty` is the document while there is no file. */
  constructor(path: string, schema: Schema, empty: Static<Schema>) {
    this.#path = path;
    this.#schema = schema;
    this.#empty = empty;
  }

  /** Reads the document with all changes that were requested before. @throws StateFileError */
  read(): Promise<Static<Schema>> {
    return this.#queue.run(() => this.#load());
  }

  /**
   * Replaces the document by the result of `change`. Nothing is written if `change` throws or returns what it received.
   * @throws StateFileError, and what `change` throws
   */
  update(change: (document: Static<Schema>) => Static<Schema> | Promise<Static<Schema>>): Promise<Static<Schema>> {
    return this.#queue.run(async () => {
      const before = await this.#load();
      const after = await change(before);
      if (after !== before) await replaceFile(this.#path, `${JSON.stringify(after, undefined, 2)}\n`);
      return after;
    });
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
