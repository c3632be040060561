import { createHash } from 'node:crypto';
import type { Call } from '../../call.ts';
import { rightsOf } from './request-sessions.ts';
import { SealedTexts, type SealingSecrets } from './sealed-text.ts';

const LIFE_MS = 3_600_000;
/** Most states that are remembered as used. The oldest are forgotten first. */
const MOST_USED = 100_000;
/** Longest state of a backend that is sealed, in characters. */
export const LONGEST_STATE = 65_536;

/**
 * State that a client returns with its answers: that of its backend, or the handle of a call that waits, and its
 * replica where there are several.
 */
export type RequestState =
  | { readonly inner: string }
  | { readonly handle: string; readonly replica?: string | undefined };

/** Request that a state belongs to: a state of another user, item or of other arguments or rights is rejected. */
export type Binding = readonly [principal: string, method: string, request: string];

/** Returns the binding of a request. */
export function bindingOf(principal: string, { body, params, envelope, identity }: Call): Binding {
  const hash = createHash('sha256').update(rightsOf(identity)).update('\0');
  for (const span of [params.name, params.uri, params.arguments])
    hash.update(span ? body.subarray(span.start, span.end) : '').update('\0');
  return [principal, envelope.method ?? '', hash.digest('base64url')];
}

export interface RequestStatesOptions {
  readonly now: () => number;
  readonly secrets: SealingSecrets;
  /** Records the use of a state for all replicas; undefined while there is only this process. */
  readonly useOnce: () => ((id: string, lifeMs: number) => Promise<boolean>) | undefined;
}

/** Seals states with AES-256-GCM, each for one use within an hour. @see MCP 2026-07-28, SEP-2322 */
export class RequestStates {
  readonly #texts: SealedTexts;
  readonly #now: () => number;
  readonly #useOnce: RequestStatesOptions['useOnce'];
  readonly #used = new Set<string>();

  constructor({ now, secrets, useOnce }: RequestStatesOptions) {
    this.#texts = new SealedTexts(secrets, 'request state');
    this.#now = now;
    this.#useOnce = useOnce;
  }

  seal(state: RequestState, binding: Binding): string {
    return this.#texts.seal(JSON.stringify({ ...state, until: this.#now() + LIFE_MS }), JSON.stringify(binding));
  }

  /**
   * Returns a state once; undefined for one that is altered, expired, used, or of another request. Rejects with
   * `KeyValueStoreUnavailable`.
   */
  open(sealed: string, binding: Binding): RequestState | undefined | Promise<RequestState | undefined> {
    const opened = this.#texts.open(sealed, JSON.stringify(binding));
    if (!opened) return undefined;
    const { until, ...state } = JSON.parse(opened.text) as RequestState & { readonly until: number };
    if (until <= this.#now()) return undefined;
    const id = opened.iv.toString('base64url');
    const useOnce = this.#useOnce();
    if (useOnce) return useOnce(id, LIFE_MS).then((isFirst) => (isFirst ? state : undefined));
    return this.#use(id) ? state : undefined;
  }

  #use(id: string): boolean {
    if (this.#used.has(id)) return false;
    this.#used.add(id);
    for (const oldest of this.#used) {
      if (this.#used.size <= MOST_USED) break;
      this.#used.delete(oldest);
    }
    return true;
  }
}
