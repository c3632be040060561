import { createHmac } from 'node:crypto';
import { DerivedKeys, IV_BYTES, SealedTexts, type SealingSecrets } from '../sealed-text.ts';

/** Longest text that is sealed, in bytes: an id must fit into a header. */
const LONGEST_TEXT = 2_048;

/** The task of a backend, and the call that made it. */
export interface TaskOrigin {
  readonly backend: string;
  /** Advertised name of the tool. */
  readonly tool: string;
  /** Id that the backend knows. */
  readonly taskId: string;
}

/**
 * Task ids as clients know them: sealed with backend, tool and owner, so that every process with the secret can
 * serve them, and nobody else can use them. Equal tasks have equal ids, as clients compare them. @see MCP SEP-2663
 */
export class TaskIds {
  readonly #texts: SealedTexts;
  readonly #ivKeys: DerivedKeys;

  constructor(secrets: SealingSecrets) {
    this.#texts = new SealedTexts(secrets, 'task id seal');
    this.#ivKeys = new DerivedKeys(secrets, 'task id iv');
  }

  /** Returns undefined for an id that is too long. */
  seal({ backend, tool, taskId }: TaskOrigin, principal: string): string | undefined {
    const text = JSON.stringify([backend, tool, taskId]);
    if (Buffer.byteLength(text) > LONGEST_TEXT) return undefined;
    // derived from all that is sealed, so it repeats only for the same id
    const iv = createHmac('sha256', this.#ivKeys.newest)
      .update(JSON.stringify([principal, text]))
      .digest();
    return this.#texts.seal(text, principal, iv.subarray(0, IV_BYTES));
  }

  /** Returns undefined for an id that is altered or belongs to another principal. */
  open(sealed: string, principal: string): TaskOrigin | undefined {
    const opened = this.#texts.open(sealed, principal);
    if (!opened) return undefined;
    const [backend, tool, taskId] = JSON.parse(opened.text) as [string, string, string];
    return { backend, tool, taskId };
  }
}
