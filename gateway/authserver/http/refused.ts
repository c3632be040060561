import type { ErrorPageName, UnusableDocument } from '../consent/error-page.ts';
import type { Checked, RefusalReason } from '../core/refusal.ts';

export interface RefusedFacts {
  readonly retryAfterSeconds?: number | undefined;
  /** Value of `WWW-Authenticate`. */
  readonly challenge?: string | undefined;
  /** Replaces the description of the reason. The client reads it. */
  readonly description?: string | undefined;
  /** Client document that cannot be used, for the page. */
  readonly document?: UnusableDocument | undefined;
  /** Facts for the log, without tokens, codes and secrets. */
  readonly facts?: Readonly<Record<string, unknown>> | undefined;
}

/** Rejects a request. Any step of an endpoint may throw it; `oauthErrors` answers it. */
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

/** Rejects a request with a page for the user. */
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

/** Returns the value of an accepted outcome. Throws `Refused` with the reason of a refused outcome. */
export function acceptedValue<Value>(outcome: Checked<Value>): Value {
  if (!outcome.ok) throw new Refused(outcome.reason);
  return outcome.value;
}
