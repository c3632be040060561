import { Type } from 'typebox';
import { Closed, HttpUrl } from '../../contract/fields.ts';
import type { Secret } from '../../contract/identity.ts';
import { block, text } from '../../contract/optional.ts';
import { oauth2ProviderConfig, type OAuth2ProviderConfig } from '../../contract/run-config/upstreams.ts';
import { exactlyOne, safeUrl } from '../../contract/rule.ts';
import { parameterRules, reservedInQuery } from './config/additional-params.ts';
import { readCode, exactIssuer, issuerOfOrigin } from './callback.ts';
import { openAccess, type ProviderAccess } from './provider-access.ts';
import type { Guards, Provider } from './protocol/guards.ts';
import { findRegistrationMetadata } from './registration/register.ts';
import {
  fetchUserInfo,
  identityFields,
  profileIn,
  subjectIn,
  syntheticIdentity,
  type IdentityFields,
} from './identity.ts';
import { clientRules, dcrProblems, dcrUrl, REGISTRATION, registrationSpec, resolveDcr } from './config/dcr.ts';
import {
  commonProblems,
  commonSpec,
  createGuards,
  DEFAULT_TIMEOUT_MS,
  redirectUriOf,
  resolveCommon,
  safeUserInfoUrl,
} from './config/provider-config.ts';
import { refreshOutcome, refreshScope, revokeGrant } from './protocol/grants.ts';
import {
  defineUpstream,
  type LegRequest,
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
import { resolveUserInfo, userInfoProblems, userInfoSpec } from './config/userinfo-config.ts';
import { below, invalid, missing, problem, type Problem } from '../../contract/problem.ts';
import { dotPathFault } from './protocol/token-reply.ts';
import { urlProblems } from '../../contract/addresses.ts';

const url = (description: string) => HttpUrl(description, { maxLength: 2048 });
const path = (description: string) => text(description, { minLength: 1, maxLength: 256 });
const requiredPath = (description: string) => Type.String({ minLength: 1, maxLength: 256, description });
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
    dcrConfig: block(REGISTRATION, {
      discoveryUrl: dcrUrl('URL of the metadata document that contains the registration endpoint.'),
      ...registrationSpec,
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
    ...clientRules,
    exactlyOne('dcrConfig', 'discoveryUrl', 'registrationEndpoint'),
    ...parameterRules,
    safeUserInfoUrl('userInfo'),
  ],
  config: oauth2ProviderConfig,
  resolve(given, scope) {
    const { authorizationEndpoint, tokenEndpoint, revocationEndpoint, issuer, clientId, userInfo, dcrConfig } = given;
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
      ...(dcrConfig && { dcr_config: resolveDcr(dcrConfig, given, scope) }),
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
  readonly host: string;
  readonly #settings: OAuth2ProviderConfig;
  readonly #guards: Guards;
  readonly #access: ProviderAccess;
  readonly #deps: UpstreamDeps;

  constructor(settings: OAuth2ProviderConfig, deps: UpstreamDeps) {
    this.name = deps.name;
    this.host = new URL(settings.authorization_endpoint ?? '').host;
    this.#settings = settings;
    this.#deps = deps;
    this.#guards = createGuards(settings, deps);
    this.#access = this.#accessOf();
  }

  #accessOf(): ProviderAccess {
    const {
      issuer,
      token_endpoint = '',
      token_response_mapping: mapping,
      dcr_config: dcr,
      scopes = [],
    } = this.#settings;
    const provider = providerOf(this.#settings, this.#guards);
    const address = dcr?.discovery_url ?? dcr?.registration_endpoint ?? '';
    const outbound = this.#guards.of(address === '' ? token_endpoint : address);
    return openAccess(this.#settings, this.#deps, {
      redirectUris: [redirectUriOf(this.#settings, this.#deps, false)],
      rules: { openid: false, mapping },
      audience: issuer ?? token_endpoint,
      provider: () => Promise.resolve(provider),
      registration: {
        address,
        outbound,
        scopes,
        find: async () => ({ metadata: await findRegistrationMetadata(dcr ?? {}, outbound), scopes }),
      },
    });
  }

  get clientId(): string {
    return this.#access.clientId;
  }

  isClient(clientId: string): Promise<boolean> {
    return this.#access.isClient(clientId);
  }

  redirectUri(): Promise<string> {
    return Promise.resolve(redirectUriOf(this.#settings, this.#deps, false));
  }

  authorizationUrl(request: LegRequest): Promise<string> {
    const { scopes = [], additional_authorization_params: additional } = this.#settings;
    const parameters = { ...additional, ...(scopes.length > 0 && { scope: scopes.join(' ') }) };
    return this.#access.use(({ client, provider }) => client.authorizationUrl(provider, request, parameters));
  }

  async login(callback: Callback, secrets: LegSecrets) {
    const { issuer, authorization_endpoint = '', token_endpoint = '' } = this.#settings;
    const rule =
      issuer === undefined ? issuerOfOrigin(authorization_endpoint, token_endpoint) : exactIssuer(issuer, false);
    const code = readCode(callback, rule);
    const { grant, reply } = await this.#access.use(({ client, provider }) => client.exchange(provider, code, secrets));
    return { grant, identity: await this.#identity(grant.accessToken, reply) };
  }

  refresh(request: RefreshRequest) {
    const scope = refreshScope(this.#settings, request.grant);
    return refreshOutcome(
      request,
      (refreshToken) => this.#access.use(({ client, provider }) => client.refresh(provider, refreshToken, scope)),
      () => true,
    );
  }

  revoke(grant: UpstreamGrant): Promise<boolean> {
    return revokeGrant(grant, this.#access, this.#deps);
  }

  warmUp(): void {
    // there is no metadata to fetch, and the first login registers the client
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
      return { ...identityIn(document, identityFields(userinfo), 'userinfo'), claims: document };
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

function providerOf(settings: OAuth2ProviderConfig, guards: Guards): Provider {
  const { authorization_endpoint, token_endpoint = '', revocation_endpoint } = settings;
  return {
    metadata: {
      issuer: new URL(token_endpoint).origin,
      ...(authorization_endpoint !== undefined && { authorization_endpoint }),
      token_endpoint,
      ...(revocation_endpoint !== undefined && { revocation_endpoint }),
    },
    outbound: guards.of(token_endpoint),
  };
}

/** Lists the problems that the schema cannot express. */
function oauth2Problems(given: OAuth2ProviderConfig): Problem[] {
  const { token_response_mapping: mapping, identity_from_token: identity, userinfo } = given;
  const insecure = given.insecure_allow_http === true;
  return [
    ...endpointProblems(given, insecure),
    ...commonProblems(given, given.dcr_config !== undefined),
    ...dcrProblems(given, false),
    ...pathProblems('token_response_mapping', mapping, 'access_token_path'),
    ...pathProblems('identity_from_token', identity, 'subject_path'),
    ...(userinfo && userinfo.endpoint_url === undefined
      ? [missing('userinfo.endpoint_url', 'set userinfo.endpoint_url')]
      : []),
    ...(userinfo && identity ? [invalid('identity_from_token', 'set userinfo or identity_from_token, not both')] : []),
    ...below('userinfo', userinfo ? userInfoProblems(userinfo, insecure) : []),
  ];
}

function endpointProblems(given: OAuth2ProviderConfig, insecure: boolean): Problem[] {
  const { authorization_endpoint: authorization, revocation_endpoint: revocation } = given;
  const absent = (['authorization_endpoint', 'token_endpoint'] as const).filter((name) => given[name] === undefined);
  const urls = {
    authorization_endpoint: authorization,
    token_endpoint: given.token_endpoint,
    revocation_endpoint: revocation,
  };
  const twice = authorization === undefined ? undefined : reservedInQuery(authorization);
  return [
    ...absent.map((name) => missing(name, `set ${name}`)),
    ...Object.entries(urls).flatMap(([path, url]) => (url === undefined ? [] : urlProblems(url, path, insecure))),
    ...(twice === undefined
      ? []
      : [
          problem('InvalidUrl', 'authorization_endpoint', `the gateway sets ${twice} itself: remove it from the query`),
        ]),
  ];
}

function pathProblems(at: string, paths: Readonly<Record<string, string>> | undefined, required: string): Problem[] {
  if (!paths) return [];
  return [
    ...(paths[required] === undefined ? [missing(`${at}.${required}`, `set ${at}.${required}`)] : []),
    ...Object.entries(paths).flatMap(([member, path]) => {
      const fault = dotPathFault(path);
      return fault === undefined ? [] : [invalid(`${at}.${member}`, `the path ${fault}`)];
    }),
  ];
}
