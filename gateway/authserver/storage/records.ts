/** What the authorization server keeps. Times are ms since the epoch. Nothing here is a class, so that all of it is JSON. */

/** Who logged in, as far as tokens say so. */
export interface Login {
  /** `sub` of issued tokens. */
  readonly userId: string;
  readonly authTime: number;
  readonly name?: string | undefined;
  readonly email?: string | undefined;
}

/** What the client asked for and the user agreed to. */
export interface Authorization {
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** RFC 8707 `resource` in its configured spelling: `aud` of issued tokens. */
  readonly resource: string;
  /** Handle under which the upstream tokens of this login are stored. Never shown outside of issued tokens. */
  readonly tsid: string;
}

/** One visit of a user's browser, from the authorization request to the code. */
export interface Transaction extends Authorization {
  readonly redirectUri: string;
  /** `state` of the client. */
  readonly state?: string | undefined;
  /** RFC 7636 S256 challenge of the client. */
  readonly codeChallenge: string;
  /** OpenID Connect `nonce` of the client. */
  readonly nonce?: string | undefined;
  /** SHA-256 of the cookie that ties the visit to a browser. Absent until the first one opens the consent page. */
  readonly cookieHash?: string | undefined;
  readonly createdAt: number;
  /** Every provider is to authenticate the user anew, whatever is still alive. */
  readonly forceLogin?: boolean | undefined;
  /** The user is asked although their consent is remembered. */
  readonly askConsent?: boolean | undefined;
  /** Names of the upstream providers that the user still has to visit, the next one first. */
  readonly remaining: readonly string[];
  /** The visit to an upstream provider that is under way. */
  readonly leg?: Leg | undefined;
  /** Known once the first provider has answered. */
  readonly login?: Login | undefined;
}

export interface Leg {
  readonly provider: string;
  readonly codeVerifier: string;
  readonly nonce: string;
  /** Redirect URI of the request to the provider. Absent in a leg that an older version began. */
  readonly redirectUri?: string | undefined;
}

/** What an authorization code stands for. */
export interface CodeGrant extends Authorization {
  /** Id of the family that the code will found. */
  readonly familyId: string;
  readonly redirectUri: string;
  readonly codeChallenge: string;
  readonly nonce?: string | undefined;
  readonly expiresAt: number;
  readonly login: Login;
}

/** The two names of a family: `id` in logs, `tsid` in tokens. */
export interface FamilyRef {
  readonly id: string;
  readonly tsid: string;
}

/** All tokens that descend from one authorization code. */
export interface Family extends Authorization {
  readonly id: string;
  readonly login: Login;
  readonly createdAt: number;
  /** No refresh outlives this. */
  readonly expiresAt: number;
}

/** What a request with an access token is checked against. There is none for a family that was revoked. */
export interface Liveness {
  readonly familyId: string;
  readonly userId: string;
  readonly clientId: string;
}

/** A person, known by the provider of the first leg and the subject there. Never linked by e-mail address. */
export interface User {
  readonly id: string;
  /** Configured name of the provider. */
  readonly provider: string;
  readonly subject: string;
  readonly createdAt: number;
}

/** Tokens of one login at one upstream provider. The texts are secrets: only the store and the provider may see them. */
export interface UpstreamRow {
  readonly tsid: string;
  readonly provider: string;
  readonly userId: string;
  /** Client of ours that the login was for. */
  readonly clientId: string;
  readonly upstreamSubject: string;
  /** Client of ours at the provider that got the tokens; a refresh token is worth nothing to another one. */
  readonly upstreamClientId: string;
  /** '' where there is none: of a row that is dead, excluded or stands for one that is missing. */
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
  readonly idToken?: string | undefined;
  readonly scope?: string | undefined;
  /** Undefined: does not expire. */
  readonly expiresAt?: number | undefined;
  readonly idTokenExpiresAt?: number | undefined;
  /** When the login left it behind: a refresh changes nothing of it. */
  readonly storedAt: number;
  /** The provider has refused the refresh token: only a new login helps. */
  readonly dead?: boolean | undefined;
  /** The client was told to log in again, as nothing usable is here: no other login takes this row over. */
  readonly challenged?: boolean | undefined;
  /** This user's logins leave the provider out: a new login does not help. */
  readonly excluded?: boolean | undefined;
}
