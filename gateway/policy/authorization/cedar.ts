import { createRequire } from 'node:module';
import type * as Module from '@cedar-policy/cedar-wasm/nodejs';
import type { Policy } from '@cedar-policy/cedar-wasm/nodejs';
import { CEDAR_MODULE } from './cedar-module.ts';

export type Cedar = typeof Module;

/**
 * Returns a new instance of the evaluator, with memory of its own: about 4 ms and 2 MB each, 30 ms for the first one. Called when
 * a policy is configured, so that other servers do not load it.
 */
export function newCedar(): Cedar {
  const require = createRequire(import.meta.url);
  const path = require.resolve(CEDAR_MODULE);
  Reflect.deleteProperty(require.cache, path);
  const cedar = require(path) as Cedar;
  Reflect.deleteProperty(require.cache, path);
  return cedar;
}

/** The evaluator ran out of its stack. */
export class CedarCrashError extends Error {
  constructor(cause: unknown) {
    super('the Cedar evaluator failed', { cause });
    this.name = 'CedarCrashError';
  }
}

/** An evaluator that is replaced after a crash, which leaves its stack pointer wrong. */
export class CedarInstance {
  readonly #sets: (readonly Policy[])[] = [];
  #cedar: Cedar | undefined;

  /** Adds a set of policies, and returns its id for `statefulIsAuthorized`. The ids of its policies are their places. */
  addPolicies(policies: readonly Policy[]): string {
    this.#sets.push(policies);
    this.#cedar = undefined;
    return String(this.#sets.length - 1);
  }

  /**
   * Calls `use`, again with a new instance when the first one fails: code that V8 has not optimized yet needs more of the stack.
   * Throws `CedarCrashError` when both fail.
   */
  run<T>(use: (cedar: Cedar) => T): T {
    try {
      return this.#attempt(use);
    } catch {
      return this.#attempt(use);
    }
  }

  #attempt<T>(use: (cedar: Cedar) => T): T {
    try {
      return use((this.#cedar ??= this.#create()));
    } catch (error) {
      this.#cedar = undefined;
      throw new CedarCrashError(error);
    }
  }

  #create(): Cedar {
    const cedar = newCedar();
    this.#sets.forEach((policies, id) => {
      const staticPolicies = Object.fromEntries(policies.map((policy, index) => [String(index), policy]));
      const answer = cedar.preparsePolicySet(String(id), { staticPolicies });
      if (answer.type === 'failure') throw new Error(answer.errors.map(({ message }) => message).join('; '));
    });
    return cedar;
  }
}
