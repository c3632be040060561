import type { IDToken } from 'openid-client';
import type { Secret } from '../../contract/identity.ts';
import type { Guards, Provider } from './protocol/guards.ts';
import {
  fetchUserInfo,
  identityFields,
  profileIn,
  STANDARD_FIELDS,
  subjectIn,
  type IdentityFields,
} from './identity.ts';
import { DEFAULT_TIMEOUT_MS } from './config/provider-config.ts';
import type { OidcProviderConfig, UserInfoConfig } from '../../contract/run-config/upstreams.ts';
import type { RefreshRequest, UpstreamDeps, UpstreamIdentity } from './upstream.ts';
import { UpstreamError } from './upstream-error.ts';

type Profile = Pick<UpstreamIdentity, 'name' | 'email'>;
type Claims = UpstreamIdentity['claims'];

/** Scopes for which the discovered userinfo endpoint returns more than `sub`. */
const PROFILE_SCOPES: readonly string[] = ['profile', 'email'];

/** Identity from an ID token. The subject is always that of the ID token; userinfo adds name and e-mail address only. */
export class OidcIdentity {
  readonly #settings: Pick<OidcProviderConfig, 'subject_claim' | 'userinfo_override'>;
  readonly #guards: Guards;
  readonly #issuer: string;
  readonly #deps: Pick<UpstreamDeps, 'log' | 'name' | 'timeoutMs'>;

  constructor(settings: OidcProviderConfig, guards: Guards, deps: Pick<UpstreamDeps, 'log' | 'name' | 'timeoutMs'>) {
    this.#settings = settings;
    this.#guards = guards;
    this.#issuer = settings.issuer_url ?? '';
    this.#deps = deps;
  }

  /** Returns the identity for the claims of a verified ID token. Rejects with `UpstreamError`. */
  async of(
    claims: IDToken,
    accessToken: Secret,
    { metadata }: Pick<Provider, 'metadata'>,
    scopes: readonly string[],
  ): Promise<UpstreamIdentity> {
    const subject = this.#subject(claims);
    if (subject === undefined) {
      const claim = this.#settings.subject_claim ?? 'sub';
      throw new UpstreamError('bad_reply', `the ID token has no usable text in its claim "${claim}"`);
    }
    const discovered = metadata.userinfo_endpoint;
    const userInfo = await this.#userInfo(claims, accessToken, discovered, scopes);
    return { subject, synthetic: false, ...userInfo.profile, claims: { ...userInfo.claims, ...claims } };
  }

  /** Returns true when the ID token of a refresh has the same user. It may contain `sub` only (OIDC Core §12.2). */
  hasSameUser(claims: IDToken, { grant, subject }: RefreshRequest): boolean {
    const found = this.#subject(claims);
    if (found !== undefined) return found === subject;
    const before = grant.idToken === undefined ? undefined : subjectOfJwt(grant.idToken.reveal());
    return before !== undefined && before === claims.sub;
  }

  #subject(claims: IDToken): string | undefined {
    const { subject_claim: claim = 'sub' } = this.#settings;
    const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
    return typeof value === 'string' ? subjectIn(claims, { ...STANDARD_FIELDS, subject: [claim] }) : undefined;
  }

  /** Returns name and e-mail address from all sources, and the userinfo document if it was fetched. */
  async #userInfo(
    claims: IDToken,
    accessToken: Secret,
    discovered: string | undefined,
    scopes: readonly string[],
  ): Promise<{ readonly profile: Profile; readonly claims: Claims }> {
    const known = profileIn(claims, STANDARD_FIELDS);
    const { userinfo_override: override } = this.#settings;
    const url = override?.endpoint_url ?? discovered;
    if (override && url !== undefined) {
      const guardUrl = override.endpoint_url ?? this.#issuer;
      const document = await this.#fetchUserInfo(url, guardUrl, override, accessToken);
      return { profile: merged(known, ofSameUser(document, identityFields(override), claims.sub)), claims: document };
    }
    const complete = known.name !== undefined && known.email !== undefined;
    if (url === undefined || complete || !scopes.some((scope) => PROFILE_SCOPES.includes(scope)))
      return { profile: known, claims: {} };
    const document = await this.#fetchUserInfo(url, this.#issuer, {}, accessToken).catch((error: unknown) => {
      if (!(error instanceof UpstreamError)) throw error;
      const { name: provider, log } = this.#deps;
      log.warn('userinfo is unavailable, the login continues without it', { provider, cause: error.message });
    });
    if (!document) return { profile: known, claims: {} };
    return { profile: merged(known, ofSameUser(document, STANDARD_FIELDS, claims.sub)), claims: document };
  }

  #fetchUserInfo(url: string, guardUrl: string, config: UserInfoConfig, accessToken: Secret): Promise<Claims> {
    const { timeoutMs = DEFAULT_TIMEOUT_MS } = this.#deps;
    const outbound = this.#guards.of(guardUrl);
    return fetchUserInfo({ url, accessToken: accessToken.reveal(), config, outbound, timeoutMs });
  }
}

/** Reads the userinfo document, which must have the subject of the ID token. @see OpenID Connect Core §5.3.2 */
function ofSameUser(document: object, fields: IdentityFields, sub: string): Profile {
  if (subjectIn(document, fields) === sub) return profileIn(document, fields);
  throw new UpstreamError('bad_reply', 'userinfo has another subject than the ID token');
}

const merged = (known: Profile, said: Profile): Profile => ({
  name: said.name ?? known.name,
  email: said.email ?? known.email,
});

/** Returns `sub` of a JWT that was verified when it was stored. */
function subjectOfJwt(jwt: string): string | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString());
    return typeof claims === 'object' ? subjectIn(claims, STANDARD_FIELDS) : undefined;
  } catch {
    return undefined;
  }
}
