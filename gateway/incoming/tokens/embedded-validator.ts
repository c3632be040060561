import { LOGIN_CLIENT_CLAIM, SUBJECT_ISSUER_CLAIM, type Identity } from '../../contract/identity.ts';
import { BearerValidator } from './bearer-validator.ts';
import { DependencyDown, TokenRefused } from '../refusal.ts';
import { oidcOf, rulesFor } from './settings.ts';
import { withUpstreamClaims } from './upstream-claims.ts';
import type {
  EmbeddedIssuer,
  IncomingConfig,
  IssuerValidator,
  LoginLiveness,
  ValidatorDeps,
} from '../token-validator.ts';

/** Validates access tokens of the embedded authorization server while their login is valid. @see RFC 9068 §4 */
export function createEmbeddedValidator(
  config: IncomingConfig,
  embedded: EmbeddedIssuer,
  deps: Pick<ValidatorDeps, 'now' | 'log'>,
): IssuerValidator {
  const validator = liveValidator(config, embedded, deps);
  const provider = config.authz_config?.cedar?.primary_upstream_provider;
  const { upstreamTokens } = embedded;
  return provider !== undefined && upstreamTokens
    ? withUpstreamClaims(validator, provider, upstreamTokens, deps.log)
    : validator;
}

function liveValidator(
  config: IncomingConfig,
  embedded: EmbeddedIssuer,
  { now }: Pick<ValidatorDeps, 'now'>,
): IssuerValidator {
  const { keys, liveness } = embedded;
  const { issuer } = oidcOf(config);
  if (!issuer) throw new Error('oidc_config.issuer is missing');
  const rules = { ...rulesFor(config, issuer), requireKid: true, type: 'at+jwt' };
  const bearer = new BearerValidator({
    keys,
    rules: () => rules,
    now,
    issuer: () => issuer,
    warmUp: () => undefined,
    status: () => embedded.status?.() ?? { ready: true },
    close: () => undefined,
  });
  return {
    validate(token) {
      const identity = bearer.validate(token);
      return identity instanceof Promise
        ? identity.then((verified) => ifLive(verified, liveness))
        : ifLive(identity, liveness);
    },
    liveness(identity) {
      const good = bearer.liveness(identity);
      if (good === false) return false;
      return async () => (good === true || (await good())) && (await isLoginLive(identity, liveness));
    },
    warmUp: () => undefined,
    status: () => bearer.status(),
    issuer: () => issuer,
    close: () => {
      bearer.close();
    },
  };
}

async function isLoginLive(identity: Identity, liveness: LoginLiveness): Promise<boolean> {
  try {
    return (await ifLive(identity, liveness)) === identity;
  } catch (error) {
    if (error instanceof TokenRefused) return false;
    throw error;
  }
}

/** Checks the login: it may have ended after the token was issued. */
function ifLive(identity: Identity, liveness: LoginLiveness): Identity | Promise<Identity> {
  const { tsid, subject: userId } = identity;
  const clientId = loginClientOf(identity);
  if (tsid === undefined && isOfTrusted(identity, liveness)) return identity;
  if (tsid === undefined || clientId === undefined) throw new TokenRefused('login_missing');
  const admitted = (live: boolean): Identity => {
    if (!live) throw new TokenRefused('login_ended');
    return identity;
  };
  const live = liveness.isLive({ tsid, userId, clientId });
  return live instanceof Promise ? live.catch(unknown).then(admitted) : admitted(live);
}

/** Returns the client of the login, which is not the client of a delegated token. */
function loginClientOf({ clientId, claims }: Identity): string | undefined {
  const loginClient = claims[LOGIN_CLIENT_CLAIM];
  return typeof loginClient === 'string' ? loginClient : clientId;
}

/** Returns true for a delegated token without a login, while the issuer of its subject is trusted. */
function isOfTrusted({ claims }: Identity, liveness: LoginLiveness): boolean {
  const issuer = claims[SUBJECT_ISSUER_CLAIM];
  return typeof issuer === 'string' && (liveness.trusts?.(issuer) ?? false);
}

function unknown(error: unknown): never {
  const cause = error instanceof Error ? error.message : 'unexpected';
  throw new DependencyDown('logins', `nobody can say whether a login lives: ${cause}`);
}
