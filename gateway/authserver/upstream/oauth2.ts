import { Type } from 'typebox';
import { Closed, HttpUrl } from '../../contract/fields.ts';
import type { Secret } from '../../contract/identity.ts';
import { block, text } from '../../contract/optional.ts';
import { oauth2ProviderConfig, type OAuth2ProviderConfig } from '../../contract/run-config/upstreams.ts';
import { secretKeyRef } from '../../contract/references.ts';
import { atMostOne, exactlyOne, safeUrl } from '../../contract/rule.ts';
import { parameterRules } from './config/additional-params.ts';
import { codeOf, exactIssuer, issuerOfOrigin } from './callback.ts';
import type { CodeClient } from './protocol/code-client.ts';
import type { Provider } from './protocol/provider.ts';
import type { Guards } from './protocol/guards.ts';
import { profileIn, subjectIn, syntheticIdentity, type IdentityFields } from './identity/identity-fields.ts';
import { oauth2Problems } from './config/oauth2-config.ts';
import {
  codeClientOf,
  commonSpec,
  DEFAULT_TIMEOUT_MS,
  guardsOf,
  redirectUriOf,
  resolveCommon,
  safeUserInfoUrl,
} from './config/provider-config.ts';
import { refreshOutcome, refreshScope } from './protocol/refresh.ts';
import { revokeGrant } from './protocol/revoke.ts';
import {
  defineUpstream,
  type AuthorizationRequest,
  type Callback,
  type LegSecrets,
  type RefreshRequest,
  type Upstream,
  type UpstreamDeps,
  type UpstreamGrant,
  type UpstreamIdentity,
  type UpstreamStatus,
} from './upstream.ts';
import { UpstreamError } from './upstream-error.ts';
import { fetchUserInfo, fieldsOf } from './identity/userinfo.ts';
import { resolveUserInfo, userInfoSpec } from './config/userinfo-config.ts';

const url = (description: string) => HttpUrl(description, { maxLength: 2048 });
const path = (description: string) => text(description, { minLength: 1, maxLength: 256 });
const requiredPath = (description: string) => Type.String({ minLength: 1, maxLength: 256, description });
const dcrUrl = (description: string) => text(description, { pattern: '^https://[^\\s?#]+[^/\\s?#]$', maxLength: 2048 });

const spec = Closed(
  {
    authorizationEndpoint: url('Authorization endpoint, to which the user is redirected.'),
    tokenEndpoint: url('Token endpoint.'),
    revocationEndpoint: Type.Optional(url('Revocation endpoint (RFC 7009).')),
    issuer: Type.Optional(url('Value of `iss` in callbacks (RFC 9207), if its origin is not that of an endpoint.')),
    clientId: text('Client identifier.', { minLength: 1, maxLength: 256 }),
    ...commonSpec,
    userInfo: userInfoSpec('Identification of the user. When absent, the user gets a generated subject.'),
    tokenResponseMapping: block('Dot paths into a token response that deviates from RFC 6749, section 5.1.', {
      accessTokenPath: requiredPath('Path of the access token.'),
      scopePath: path('Path of the granted scope.'),
      refreshTokenPath: path('Path of the refresh token.'),
      expiresInPath: path('Path of the lifetime in seconds.'),
    }),
    identityFromToken: block('Dot paths of the user’s identity in the token response.', {
      subjectPath: requiredPath('Path of the subject.'),
      namePath: path('Path of the display name.'),
      emailPath: path('Path of the e-mail address.'),
    }),
    dcrConfig: block('Dynamic client registration (RFC 7591) at the provider.', {
      discoveryUrl: dcrUrl('URL of the metadata document that contains the registration endpoint.'),
      registrationEndpoint: dcrUrl('Registration endpoint.'),
      initialAccessTokenRef: secretKeyRef('Initial access token for the registration.'),
      softwareId: text('`software_id` parameter of the registration.', { maxLength: 255 }),
      softwareStatement: text('`software_statement` parameter of the registration.', { maxLength: 16384 }),
    }),
  },
  { description: 'Provider without discovery.' },
);

/** OAuth 2.0 provider without discovery, such as GitHub and Slack, with their deviations from the RFC. @see RFC 6749 §4.1 */
export const oauth2 = defineUpstream({
  type: 'oauth2',
  description: 'Provider without discovery.',
  spec,
  rules: [
    safeUrl('', 'authorizationEndpoint'),
    safeUrl('', 'tokenEndpoint'),
    safeUrl('', 'revocationEndpoint'),
    exactlyOne('', 'clientId', 'dcrConfig'),
    atMostOne('', 'dcrConfig', 'clientSecretRef'),
    exactlyOne('dcrConfig', 'discoveryUrl', 'registrationEndpoint'),
    ...parameterRules,
    safeUserInfoUrl('userInfo'),
  ],
  config: oauth2ProviderConfig,
  resolve(given, scope) {
    const { authorizationEndpoint, tokenEndpoint, revocationEndpoint, issuer, clientId, userInfo } = given;
    const { tokenResponseMapping: mapping, identityFromToken: identity } = given;
    scope.checkUrl(tokenEndpoint, 'tokenEndpoint', given);
    if (revocationEndpoint !== undefined) scope.checkUrl(revocationEndpoint, 'revocationEndpoint', given);
    if (userInfo) scope.checkUrl(userInfo.endpointUrl, 'userInfo.endpointUrl', given);
    return {
      authorization_endpoint: authorizationEndpoint,
      token_endpoint: tokenEndpoint,
      ...(revocationEndpoint !== undefined && { revocation_endpoint: revocationEndpoint }),
      ...(issuer !== undefined && { issuer }),
      ...(clientId !== undefined && { client_id: clientId }),
      ...resolveCommon(given, scope),
      ...(userInfo && { userinfo: resolveUserInfo(userInfo) }),
      ...(mapping && { token_response_mapping: resolvePaths(mapping) }),
      ...(identity && { identity_from_token: resolvePaths(identity) }),
    };
  },
  check: oauth2Problems,
  create: (settings, deps) => new OAuth2Upstream(settings, deps),
});

/** `accessTokenPath` -> `access_token_path`. */
const resolvePaths = (paths: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(paths)
      .filter((entry): entry is [string, string] => entry[1] !== undefined)
      .map(([name, value]) => [name.replaceAll(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`), value]),
  );

class OAuth2Upstream implements Upstream {
  readonly name: string;
  readonly clientId: string;
  readonly host: string;
  readonly #settings: OAuth2ProviderConfig;
  readonly #guards: Guards;
  readonly #provider: Provider;
  readonly #client: CodeClient;
  readonly #deps: UpstreamDeps;

  constructor(settings: OAuth2ProviderConfig, deps: UpstreamDeps) {
    const { authorization_endpoint = '', token_endpoint = '', revocation_endpoint } = settings;
    this.name = deps.name;
    this.clientId = settings.client_id ?? '';
    this.host = new URL(authorization_endpoint).host;
    this.#settings = settings;
    this.#deps = deps;
    this.#guards = guardsOf(settings, deps);
    this.#provider = {
      metadata: {
        issuer: new URL(token_endpoint).origin,
        authorization_endpoint,
        token_endpoint,
        ...(revocation_endpoint !== undefined && { revocation_endpoint }),
      },
      outbound: this.#guards.of(token_endpoint),
    };
    this.#client = codeClientOf(settings, deps, {
      redirectUri: redirectUriOf(settings, deps, false),
      rules: { openid: false, mapping: settings.token_response_mapping },
    });
  }

  redirectUri(): Promise<string> {
    return Promise.resolve(redirectUriOf(this.#settings, this.#deps, false));
  }

  authorizationUrl(request: AuthorizationRequest): Promise<string> {
    const { scopes = [], additional_authorization_params: additional } = this.#settings;
    const parameters = { ...additional, ...(scopes.length > 0 && { scope: scopes.join(' ') }) };
    return this.#client.authorizationUrl(this.#provider, request, parameters);
  }

  async login(callback: Callback, secrets: LegSecrets) {
    const { issuer, authorization_endpoint = '', token_endpoint = '' } = this.#settings;
    const rule =
      issuer === undefined ? issuerOfOrigin(authorization_endpoint, token_endpoint) : exactIssuer(issuer, false);
    const code = codeOf(callback, rule);
    const { grant, reply } = await this.#client.exchange(this.#provider, code, secrets);
    return { grant, identity: await this.#identity(grant.accessToken, reply) };
  }

  refresh(request: RefreshRequest) {
    return refreshOutcome(
      request,
      (refreshToken) => this.#client.refresh(this.#provider, refreshToken, refreshScope(this.#settings, request.grant)),
      () => true,
    );
  }

  revoke(grant: UpstreamGrant): Promise<boolean> {
    return revokeGrant(grant, this.#client, () => Promise.resolve(this.#provider), this.#deps);
  }

  warmUp(): void {
    // there is no metadata to fetch
  }

  status(): UpstreamStatus {
    return { ready: true };
  }

  close(): Promise<void> {
    return this.#guards.close();
  }

  async #identity(accessToken: Secret, reply: unknown): Promise<UpstreamIdentity> {
    const { userinfo, identity_from_token: paths } = this.#settings;
    if (userinfo?.endpoint_url !== undefined) {
      const { timeoutMs = DEFAULT_TIMEOUT_MS } = this.#deps;
      const { endpoint_url: endpoint } = userinfo;
      const outbound = this.#guards.of(endpoint);
      const request = { url: endpoint, accessToken: accessToken.reveal(), config: userinfo, outbound, timeoutMs };
      const document = await fetchUserInfo(request);
      return { ...identityIn(document, fieldsOf(userinfo), 'userinfo'), claims: document };
    }
    if (!paths) return syntheticIdentity(accessToken.reveal());
    const listed = (one: string | undefined) => (one === undefined ? [] : [one]);
    const fields = {
      subject: listed(paths.subject_path),
      name: listed(paths.name_path),
      email: listed(paths.email_path),
    };
    return identityIn(reply, fields, 'the token reply');
  }
}

function identityIn(document: unknown, fields: IdentityFields, where: string): UpstreamIdentity {
  const subject = subjectIn(document, fields);
  if (subject === undefined) throw new UpstreamError('bad_reply', `${where} has no usable subject`);
  return { subject, synthetic: false, ...profileIn(document, fields), claims: {} };
}
