import type { ServerResponse } from 'node:http';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { ANONYMOUS, type Identity } from '../contract/identity.ts';
import { markLogged, setRefusalReason } from '../http/log-refusals.ts';
import { requestIdOf } from '../http/head/added-headers.ts';
import { framesOf } from '../telemetry/log.ts';
import { readBearer, sendChallenge, sendRefusal, sendUnavailable, type Bearer, type Refusal } from './bearer.ts';
import { DependencyDown, DependencyLog, TokenRefused } from './refusal.ts';
import {
  metadataUrlOf,
  otherSpelling,
  protectedResourceMetadata,
  type MetadataOptions,
  type ProtectedResource,
} from './protected-resource.ts';
import type { Readiness, IssuerValidator, Liveness, TokenValidator } from './token-validator.ts';
import type { Logger } from '../contract/logger.ts';

/** Outcome of authenticating a request. */
export type AuthenticationOutcome =
  | 'accepted'
  | 'no_credentials'
  | 'malformed'
  | 'invalid_token'
  | 'insufficient_scope'
  | 'unavailable' // a dependency that verifies tokens is down
  | 'fault'; // an error of the gateway itself

/** Boundary 1 of one virtual server: authenticates clients. */
export interface Boundary {
  /**
   * Lets a request through with `res.locals.principal` (`anonymous` without credentials) and `res.locals.identity`, or
   * answers it. Calls `next` before it returns when the token is known.
   */
  readonly authenticate: RequestHandler;
  /** Serves protected resource metadata and passes on other paths. Runs before the check of Origin and Host. */
  readonly metadata: RequestHandler;
  /** Answers 401 in the middle of a call: the client must log in again. With `scopes` 403, insufficient_scope. */
  challenge(res: ServerResponse, description: string, scopes?: readonly string[]): void;
  /** Checks whether an accepted identity is still valid; undefined means anonymous. */
  liveness(identity: Identity | undefined): Liveness;
  status(): Readiness;
  close(): void;
}

interface BoundaryOptions {
  /** Absent: anonymous mode. */
  readonly protection?: Protection | undefined;
  readonly log: Pick<Logger, 'error' | 'warn' | 'debug'>;
  /** ms since the epoch. */
  readonly now: () => number;
  /** Called once per request that `authenticate` handles, unless its client has disconnected. */
  readonly onOutcome?: ((outcome: AuthenticationOutcome) => void) | undefined;
}

interface Protection {
  readonly validator: TokenValidator;
  readonly resource: ProtectedResource;
  /** A token must have all of them. */
  readonly requiredScopes: readonly string[];
  readonly metadata?: MetadataOptions | undefined;
}

/** The members of a gateway's configuration that its boundary reads. */
interface BoundaryConfig {
  readonly name?: string | undefined;
  readonly oidc_config?:
    | { readonly issuer?: string | undefined; readonly scopes?: readonly string[] | undefined }
    | undefined;
  readonly vmcp: {
    readonly incoming: { readonly type: string; readonly required_scopes?: readonly string[] | undefined };
  };
}

/** Describes the protection of a server. */
export function protectionOf(
  { name, oidc_config: oidc, vmcp: { incoming } }: BoundaryConfig,
  resourceUrl: string,
  validator: IssuerValidator,
  metadata?: MetadataOptions,
): Protection {
  const requiredScopes = incoming.required_scopes ?? [];
  return {
    validator,
    requiredScopes,
    metadata,
    resource: {
      resource: resourceUrl,
      issuer: () => validator.issuer(),
      scopes: advertisedScopes([...(oidc?.scopes ?? []), ...requiredScopes]),
      name,
    },
  };
}

/** Removes `offline_access`: the resource does not need refresh tokens, so the client decides. */
const advertisedScopes = (scopes: readonly string[]): readonly string[] =>
  [...new Set(scopes)].filter((scope) => scope !== 'offline_access');

export const createBoundary = (options: BoundaryOptions): Boundary =>
  options.protection ? new ProtectedBoundary(options.protection, options) : anonymousBoundary(options);

function anonymousBoundary({ onOutcome }: BoundaryOptions): Boundary {
  return {
    authenticate: (_req, res, next) => {
      res.locals['principal'] = ANONYMOUS;
      onOutcome?.('accepted');
      next();
    },
    metadata: protectedResourceMetadata(undefined),
    challenge: (res, description, scopes) => {
      sendChallenge(res, { ...challengeOf(description, scopes), metadataUrl: undefined });
    },
    liveness: () => true,
    status: () => ({ ready: true }),
    close: () => undefined,
  };
}

const NO_CREDENTIALS = 'a bearer token is required: log in at the authorization server that the metadata names';
const MALFORMED = 'the request must have one Authorization header of the form: Bearer TOKEN';
/** Message of the log. */
const TOKEN_REFUSED = 'bearer token refused';
const AUDIENCES_QUIET_MS = 5_000;
const BAD_TOKEN = 'the token is not valid here: log in again';
const MISSING_SCOPE = 'the token lacks a scope that is required here: log in again and ask for every scope named';

class ProtectedBoundary implements Boundary {
  readonly metadata: RequestHandler;
  readonly #options: BoundaryOptions;
  readonly #protection: Protection;
  readonly #metadataUrl: string;
  readonly #otherMetadataUrl: string | undefined;
  readonly #dependencies: DependencyLog;
  #audiencesShownAt = -Infinity;

  constructor(protection: Protection, options: BoundaryOptions) {
    this.#protection = protection;
    this.#options = options;
    const { resource } = protection.resource;
    const other = otherSpelling(resource);
    this.#metadataUrl = metadataUrlOf(resource);
    this.#otherMetadataUrl = other === undefined ? undefined : metadataUrlOf(other);
    this.#dependencies = new DependencyLog(options.log, options.now);
    this.metadata = protectedResourceMetadata(protection.resource, protection.metadata);
  }

  readonly authenticate = (req: Request, res: Response, next: NextFunction): void => {
    const bearer = readBearer(req.rawHeaders);
    if (bearer.kind !== 'token') {
      this.#refuseHeader(res, bearer);
      return;
    }
    let identity: Identity | Promise<Identity>;
    try {
      identity = this.#protection.validator.validate(bearer.token, req);
    } catch (error) {
      this.#refuse(res, error);
      return;
    }
    if (identity instanceof Promise) this.#await(identity, res, next);
    else this.#admit(identity, res, next);
  };

  challenge(res: ServerResponse, description: string, scopes?: readonly string[]): void {
    const { scopes: usual } = this.#protection.resource;
    this.#challenge(res, challengeOf(description, scopes, usual));
  }

  liveness(identity: Identity | undefined): Liveness {
    return identity !== undefined && this.#protection.validator.liveness(identity);
  }

  status(): ReturnType<Boundary['status']> {
    return this.#protection.validator.status();
  }

  close(): void {
    this.#protection.validator.close();
  }

  #await(identity: Promise<Identity>, res: Response, next: NextFunction): void {
    identity.then(
      (known) => {
        if (!res.destroyed) this.#admit(known, res, next);
      },
      (error: unknown) => {
        this.#refuse(res, error);
      },
    );
  }

  #admit(identity: Identity, res: Response, next: NextFunction): void {
    const { requiredScopes } = this.#protection;
    if (!requiredScopes.every((scope) => identity.scopes.has(scope))) {
      this.#outcome('insufficient_scope');
      setRefusalReason(res, 'scope', TOKEN_REFUSED);
      const scopes = requiredScopes;
      this.#challenge(res, { status: 403, error: 'insufficient_scope', description: MISSING_SCOPE, scopes });
      return;
    }
    res.locals['principal'] = identity.principal;
    res.locals['identity'] = identity;
    this.#outcome('accepted');
    next();
  }

  #refuseHeader(res: Response, bearer: Exclude<Bearer, { kind: 'token' }>): void {
    switch (bearer.kind) {
      case 'none':
        this.#outcome('no_credentials');
        setRefusalReason(res, 'no_credentials');
        this.#challenge(res, { status: 401, description: NO_CREDENTIALS });
        return;
      case 'malformed':
        this.#outcome('malformed');
        setRefusalReason(res, bearer.reason, TOKEN_REFUSED);
        this.#challenge(res, { status: 400, error: 'invalid_request', description: MALFORMED });
        return;
      case 'not_a_token':
        this.#refuseToken(res, bearer.reason);
    }
  }

  /** Tells the client as little as possible, and to log in again only when that can help. */
  #refuse(res: Response, error: unknown): void {
    const { log } = this.#options;
    if (error instanceof TokenRefused) {
      if (error.audiences) this.#showAudiences(error.audiences);
      this.#refuseToken(res, error.reason);
    } else if (error instanceof DependencyDown) {
      this.#outcome('unavailable');
      setRefusalReason(res, `${error.dependency}_unavailable`);
      this.#dependencies.down(error.dependency, error.message);
      if (canAnswer(res)) sendUnavailable(res, error.retryAfterSeconds);
    } else {
      this.#outcome('fault');
      log.error('a token could not be judged', { error: framesOf(error), request_id: requestIdOf(res) });
      markLogged(res);
      if (canAnswer(res)) sendRefusal(res, 500, { error: 'server_error', error_description: 'internal error' });
    }
  }

  /** Logs once in 5 s at debug which audience a rejected token has. */
  #showAudiences(audiences: readonly unknown[]): void {
    const { log, now } = this.#options;
    if (now() - this.#audiencesShownAt < AUDIENCES_QUIET_MS) return;
    this.#audiencesShownAt = now();
    const aud = audiences.slice(0, 5).map((each) => (typeof each === 'string' ? each.slice(0, 200) : typeof each));
    log.debug('bearer token has another audience', { aud });
  }

  #refuseToken(res: Response, reason: string): void {
    this.#outcome('invalid_token');
    setRefusalReason(res, reason, TOKEN_REFUSED);
    this.#challenge(res, { status: 401, error: 'invalid_token', description: BAD_TOKEN });
  }

  #challenge(
    res: ServerResponse,
    refusal: Pick<Refusal, 'status' | 'error' | 'description'> & { readonly scopes?: readonly string[] },
  ): void {
    if (!canAnswer(res)) return;
    const metadataUrl = this.#metadataUrlFor(res.req.url ?? '');
    sendChallenge(res, { scopes: this.#protection.resource.scopes, metadataUrl, ...refusal });
  }

  /** Returns the URL of the metadata that name the resource as the client spells it: with or without a slash at its end. */
  #metadataUrlFor(requested: string): string {
    const [path = ''] = requested.split('?', 1);
    const own = new URL(this.#metadataUrl).pathname;
    const isSpelledOtherwise = path.endsWith('/') !== own.endsWith('/') && lastSegment(path) === lastSegment(own);
    return (isSpelledOtherwise ? this.#otherMetadataUrl : undefined) ?? this.#metadataUrl;
  }

  #outcome(outcome: AuthenticationOutcome): void {
    this.#options.onOutcome?.(outcome);
  }
}

const lastSegment = (path: string): string | undefined => path.replace(/\/$/u, '').split('/').at(-1);

/** @see RFC 6750 section 3.1 */
const challengeOf = (
  description: string,
  scopes: readonly string[] | undefined,
  usual: readonly string[] = [],
): Omit<Refusal, 'metadataUrl'> =>
  scopes
    ? { status: 403, error: 'insufficient_scope', description, scopes }
    : { status: 401, error: 'invalid_token', description, scopes: usual };

const canAnswer = (res: ServerResponse): boolean => !res.destroyed && !res.headersSent;
