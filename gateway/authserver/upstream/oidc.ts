import type { IDToken, ServerMetadata } from 'openid-client';
import { Closed, HttpUrl } from '../../contract/fields.ts';
import { block, text } from '../../contract/optional.ts';
import { oidcProviderConfig, type OidcProviderConfig } from '../../contract/run-config/upstreams.ts';
import { safeUrl } from '../../contract/rule.ts';
import { parameterRules, withLoginPrompt } from './config/additional-params.ts';
import { readCode, exactIssuer } from './callback.ts';
import type { Guards, Provider } from './protocol/guards.ts';
import { clientRules, dcrProblems, REGISTRATION, registrationSpec, resolveDcr } from './config/dcr.ts';
import { OidcIdentity } from './oidc-identity.ts';
import {
  commonProblems,
  commonSpec,
  DEFAULT_TIMEOUT_MS,
  createGuards,
  redirectUriOf,
  resolveCommon,
  safeUserInfoUrl,
} from './config/provider-config.ts';
import { openAccess, type ProviderAccess } from './provider-access.ts';
import { ProviderMetadata } from './provider-metadata.ts';
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
} from './upstream.ts';
import { resolveUserInfo, userInfoProblems, userInfoSpec } from './config/userinfo-config.ts';
import { below, invalid, missing, problem, type Problem } from '../../contract/problem.ts';
import { urlProblems } from '../../contract/addresses.ts';

const CLAIM_PATTERN = '^([a-zA-Z_][a-zA-Z0-9_]*)?$';

const spec = Closed(
  {
    issuerUrl: HttpUrl('Issuer of the provider.', { maxLength: 2048 }),
    clientId: text('Client identifier.', { minLength: 1, maxLength: 256 }),
    ...commonSpec,
    dcrConfig: block(REGISTRATION, registrationSpec),
    userInfoOverride: userInfoSpec('Replacement for the discovered userinfo endpoint.'),
    subjectClaim: text('Claim used as the subject. Defaults to `sub`.', { pattern: CLAIM_PATTERN, maxLength: 128 }),
  },
  { description: 'Provider with OpenID Connect discovery.' },
);

/** Provider with OpenID Connect discovery. @see OpenID Connect Core 1.0, OpenID Connect Discovery 1.0 */
export const oidc = defineUpstream({
  type: 'oidc',
  description: 'Provider with OpenID Connect discovery.',
  spec,
  rules: [safeUrl('', 'issuerUrl'), ...clientRules, ...parameterRules, safeUserInfoUrl('userInfoOverride')],
  config: oidcProviderConfig,
  resolve(given, scope) {
    const { issuerUrl, clientId, subjectClaim, userInfoOverride, dcrConfig } = given;
    scope.checkUrl(issuerUrl, 'issuerUrl', given);
    if (userInfoOverride) scope.checkUrl(userInfoOverride.endpointUrl, 'userInfoOverride.endpointUrl', given);
    for (const problem of scopeProblems(given.scopes)) scope.problem(problem);
    return {
      issuer_url: issuerUrl,
      ...(clientId !== undefined && { client_id: clientId }),
      ...(dcrConfig && { dcr_config: resolveDcr(dcrConfig, given, scope) }),
      ...resolveCommon(given, scope),
      ...(subjectClaim !== undefined && subjectClaim !== '' && { subject_claim: subjectClaim }),
      ...(userInfoOverride && { userinfo_override: resolveUserInfo(userInfoOverride) }),
    };
  },
  check: oidcProblems,
  create: (settings, deps) => new OidcUpstream(settings, deps),
});

/** Returns true when the metadata state that every callback has `iss`. @see RFC 9207 §3 */
const sendsIss = ({ authorization_response_iss_parameter_supported: supported }: ServerMetadata): boolean =>
  supported === true;

const DEFAULT_SCOPES: readonly string[] = ['openid', 'offline_access'];

class OidcUpstream implements Upstream {
  readonly name: string;
  readonly host: string;
  readonly #settings: OidcProviderConfig;
  readonly #issuer: string;
  readonly #guards: Guards;
  readonly #metadata: ProviderMetadata;
  readonly #access: ProviderAccess;
  readonly #identity: OidcIdentity;
  readonly #deps: UpstreamDeps;

  constructor(settings: OidcProviderConfig, deps: UpstreamDeps) {
    const { timeoutMs = DEFAULT_TIMEOUT_MS, now, log, retryPausesMs } = deps;
    this.name = deps.name;
    this.#settings = settings;
    this.#deps = deps;
    this.#issuer = settings.issuer_url ?? '';
    this.host = new URL(this.#issuer).host;
    this.#guards = createGuards(settings, deps);
    this.#metadata = new ProviderMetadata({
      issuer: this.#issuer,
      clientId: settings.client_id ?? 'vmcp',
      outbound: this.#guards.of(this.#issuer),
      allowPrivateIPs: settings.allow_private_ips,
      insecureAllowHTTP: settings.insecure_allow_http,
      timeoutMs,
      now,
      log,
      retryPausesMs,
    });
    this.#access = this.#accessOf();
    this.#identity = new OidcIdentity(settings, this.#guards, deps);
  }

  get clientId(): string {
    return this.#access.clientId;
  }

  isClient(clientId: string): Promise<boolean> {
    return this.#access.isClient(clientId);
  }

  async redirectUri(): Promise<string> {
    return redirectUriOf(this.#settings, this.#deps, sendsIss(await this.#metadata.current()));
  }

  async authorizationUrl(request: LegRequest): Promise<string> {
    const { additional_authorization_params: additional = {} } = this.#settings;
    return this.#access.use(({ client, provider }) =>
      client.authorizationUrl(provider, request, {
        ...(request.forceLogin === true ? withLoginPrompt(additional) : additional),
        scope: this.#scopes(provider.metadata).join(' '),
        nonce: request.nonce,
      }),
    );
  }

  async login(callback: Callback, secrets: LegSecrets) {
    const provider = await this.#provider();
    const required = sendsIss(provider.metadata) || this.#usesSharedRedirect(secrets);
    const code = readCode(callback, exactIssuer(this.#issuer, required));
    const { grant, claims } = await this.#access.use(({ client, provider: of }) => client.exchange(of, code, secrets));
    const scopes = this.#scopes(provider.metadata);
    return { grant, identity: await this.#identity.of(claims as IDToken, grant.accessToken, provider, scopes) };
  }

  refresh(request: RefreshRequest) {
    return refreshOutcome(
      request,
      (refreshToken) =>
        this.#access.use(({ client, provider }) =>
          client.refresh(provider, refreshToken, refreshScope(this.#settings, request.grant)),
        ),
      (claims) => this.#identity.hasSameUser(claims, request),
    );
  }

  revoke(grant: UpstreamGrant): Promise<boolean> {
    return revokeGrant(grant, this.#access, this.#deps);
  }

  warmUp(): void {
    this.#metadata.warmUp();
  }

  status() {
    return this.#metadata.status();
  }

  close(): Promise<void> {
    this.#metadata.close();
    return this.#guards.close();
  }

  /** Returns true when the leg uses the shared redirect URI: `iss` is then required, whatever the metadata state now. */
  #usesSharedRedirect({ redirectUri }: LegSecrets): boolean {
    const { redirectUri: shared, ownRedirectUri: own } = this.#deps;
    return this.#settings.redirect_uri === undefined && own !== undefined && redirectUri === shared;
  }

  #accessOf(): ProviderAccess {
    const { redirect_uri: configured, dcr_config: dcr, scopes = [] } = this.#settings;
    const { redirectUri: shared, ownRedirectUri: own = shared } = this.#deps;
    return openAccess(this.#settings, this.#deps, {
      redirectUris: configured === undefined ? [...new Set([shared, own])] : [configured],
      rules: { openid: true },
      audience: this.#issuer,
      provider: () => this.#provider(),
      registration: {
        address: this.#issuer,
        outbound: this.#guards.of(dcr?.registration_endpoint ?? this.#issuer),
        scopes,
        find: async () => {
          const metadata = await this.#metadata.current();
          const { registration_endpoint = metadata.registration_endpoint } = dcr ?? {};
          const found = registration_endpoint === undefined ? metadata : { ...metadata, registration_endpoint };
          return { metadata: found, scopes: this.#scopes(metadata) };
        },
      },
    });
  }

  async #provider(): Promise<Provider> {
    return { metadata: await this.#metadata.current(), outbound: this.#guards.of(this.#issuer) };
  }

  /** Returns the requested scopes. Requests `offline_access` unless the metadata omit it: Google, for one, rejects it. */
  #scopes({ scopes_supported: supported }: ServerMetadata): readonly string[] {
    if (this.#settings.scopes) return this.#settings.scopes;
    return DEFAULT_SCOPES.filter((scope) => scope === 'openid' || supported?.includes(scope) !== false);
  }
}

function scopeProblems(scopes: readonly string[] | undefined): Problem[] {
  if (scopes === undefined || scopes.includes('openid')) return [];
  const message = 'an OpenID provider returns no ID token without the scope openid: add it, or use type oauth2';
  return [invalid('scopes', message)];
}

/** Lists the problems that the schema cannot express. */
function oidcProblems(given: OidcProviderConfig): Problem[] {
  const { issuer_url: issuer, subject_claim: claim, userinfo_override: override } = given;
  const insecure = given.insecure_allow_http === true;
  return [
    ...(issuer === undefined ? [missing('issuer_url', 'set issuer_url')] : urlProblems(issuer, 'issuer_url', insecure)),
    ...(issuer?.includes('?') === true
      ? [problem('InvalidUrl', 'issuer_url', 'an issuer has no query: remove the ? and everything after it')]
      : []),
    ...commonProblems(given, given.dcr_config !== undefined),
    ...dcrProblems(given, true),
    ...scopeProblems(given.scopes),
    ...(claim !== undefined && !new RegExp(CLAIM_PATTERN, 'u').test(claim)
      ? [invalid('subject_claim', 'a claim name has letters, digits and underscores only')]
      : []),
    ...below('userinfo_override', override ? userInfoProblems(override, insecure) : []),
  ];
}
