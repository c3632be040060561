/** Secret text that logs, JSON and errors do not print by accident. */
export class Secret {
  readonly #text: string;
  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return '[redacted]';
  }

  toJSON(): string {
    return '[redacted]';
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return '[redacted]';
  }
}

/** A caller whose credential was verified at boundary 1. Without one the caller is anonymous. */
export interface Identity {
  /** Owner of sessions: issuer and subject, told apart from every other pair. Tokens of one user share it. */
  readonly principal: string;
  readonly issuer: string;
  readonly subject: string;
  /** `client_id` or `azp` of the token. */
  readonly clientId?: string | undefined;
  readonly scopes: ReadonlySet<string>;
  /** All members of the token or of the introspection reply, without `tsid`. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** The bearer token as it was presented. Leaves the process as the subject of a token exchange only. */
  readonly token: Secret;
  /** End of the token's life, ms since the epoch. */
  readonly expiresAt: number;
  /** Claims of the stored token of the upstream provider that policies read in place of `claims`. */
  readonly upstream?: { readonly provider: string; readonly claims: Readonly<Record<string, unknown>> } | undefined;
  /** Handle of the login at the embedded authorization server, under which its upstream tokens are stored. */
  readonly tsid?: string | undefined;
}

/** Returns `Identity.principal` of a pair. A length prefix keeps pairs distinct. */
export const principalOfPair = (issuer: string, subject: string): string =>
  `${String(issuer.length)}:${issuer}${subject}`;

/**
 * Private claim of a delegated token of the embedded authorization server: the client of the login that the token comes from.
 * `client_id` is the client that obtained the token. @see RFC 8693 §4.3
 */
export const LOGIN_CLIENT_CLAIM = 'login_client_id';

/** Private claim of a delegated token without a login: the trusted issuer of its subject. */
export const SUBJECT_ISSUER_CLAIM = 'subject_issuer';

export const ANONYMOUS = 'anonymous';
