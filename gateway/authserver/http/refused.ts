import type { ErrorPageName } from '../consent/error-page.ts';
import type { RefusalReason } from '../core/refusal.ts';

export interface RefusedFacts {
  readonly retryAfterSeconds?: number | undefined;
  /** Value of `WWW-Authenticate`. */
  readonly challenge?: string | undefined;
  /** In place of the description that belongs to the reason. Goes to the client. */
  readonly description?: string | undefined;
  /** For the log: nothing of a token, a code or a secret. */
  readonly facts?: Readonly<Record<string, unknown>> | undefined;
}

/** An endpoint says no. Thrown from any of its steps, and answered in one place. */
export class Refused extends Error {
  readonly reason: RefusalReason;
  readonly details: RefusedFacts;

  constructor(reason: RefusalReason, details: RefusedFacts = {}) {
    super(reason);
    this.name = 'Refused';
    this.reason = reason;
    this.details = details;
  }
}

/** The person in front of the browser must read why it does not go on. */
export class PageRefused extends Error {
  readonly page: ErrorPageName;
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(page: ErrorPageName, facts: Readonly<Record<string, unknown>> = {}) {
    super(page);
    this.name = 'PageRefused';
    this.page = page;
    this.facts = facts;
  }
}
