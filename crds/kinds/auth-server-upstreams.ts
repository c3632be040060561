import { Type } from 'typebox';
import { Closed, DnsLabel, HttpUrl } from '../../gateway/contract/fields.ts';
import { ATOMIC, block, flag, mapBy, text, textMap, texts } from '../../gateway/contract/optional.ts';
import { secretKeyRef } from '../../gateway/contract/references.ts';
import { at, atMostOne, exactlyOne, rule, safeUrl, union, type Rule } from '../../gateway/contract/rule.ts';

/** Parameters of an authorization request that the gateway sets itself. */
const RESERVED_PARAMETERS = [
  'client_id',
  'client_secret',
  'code',
  'code_challenge',
  'code_challenge_method',
  'code_verifier',
  'grant_type',
  'nonce',
  'redirect_uri',
  'refresh_token',
  'request',
  'request_uri',
  'response_mode',
  'response_type',
  'scope',
  'state',
];

const url = (description: string) => HttpUrl(description, { maxLength: 2048 });
const fields = (description: string) => texts(description, { maxItems: 16, ...ATOMIC });

const userInfo = (description: string) =>
  block(description, {
    endpointUrl: url('URL that answers who the user is.'),
    httpMethod: Type.Optional(Type.Enum(['GET', 'POST'], { description: 'Method of the request; GET when absent.' })),
    additionalHeaders: textMap('Header name to value, sent with the request.', { maxProperties: 32 }),
    fieldMapping: block('Which members of the answer mean what; the first present one counts.', {
      subjectFields: fields('Members that may hold the subject.'),
      nameFields: fields('Members that may hold the display name.'),
      emailFields: fields('Members that may hold the e-mail address.'),
    }),
  });

const common = {
  clientSecretRef: secretKeyRef('Client secret; absent for a public client.'),
  scopes: texts('Scopes asked for.', { maxItems: 64, ...ATOMIC }),
  redirectUri: text('Where the provider sends the user back to; `<issuer>/oauth/callback` when absent.', {
    pattern: '^https?://[^\\s#]+$',
    maxLength: 2048,
  }),
  additionalAuthorizationParams: textMap('Further parameters of the authorization request.', { maxProperties: 16 }),
  allowPrivateIPs: flag('Let the provider resolve to private addresses.'),
  insecureAllowHTTP: flag('Let the provider be spoken to without TLS.'),
};

const path = (description: string) => text(description, { minLength: 1, maxLength: 256 });
const dcrUrl = (description: string) => text(description, { pattern: '^https://[^\\s?#]+[^/\\s?#]$', maxLength: 2048 });

const oauth2Config = block('A provider without discovery.', {
  authorizationEndpoint: url('URL that the user is redirected to.'),
  tokenEndpoint: url('URL that gives tokens for codes.'),
  clientId: text('Client identifier.', { minLength: 1, maxLength: 256 }),
  ...common,
  userInfo: userInfo('How the user is identified; a made-up subject when absent.'),
  tokenResponseMapping: block('Dot paths into a token response that is not RFC 6749 §5.1.', {
    accessTokenPath: Type.String({ minLength: 1, maxLength: 256, description: 'Path of the access token.' }),
    scopePath: path('Path of the granted scope.'),
    refreshTokenPath: path('Path of the refresh token.'),
    expiresInPath: path('Path of the lifetime in seconds.'),
  }),
  identityFromToken: block('Dot paths of the user’s identity in the token response.', {
    subjectPath: Type.String({ minLength: 1, maxLength: 256, description: 'Path of the subject.' }),
    namePath: path('Path of the display name.'),
    emailPath: path('Path of the e-mail address.'),
  }),
  dcrConfig: block('Obtain the client by RFC 7591 registration.', {
    discoveryUrl: dcrUrl('Metadata document that names the registration endpoint.'),
    registrationEndpoint: dcrUrl('Registration endpoint.'),
    initialAccessTokenRef: secretKeyRef('Token that allows the registration.'),
    softwareId: text('`software_id` of the registration.', { maxLength: 255 }),
    softwareStatement: text('`software_statement` of the registration.', { maxLength: 16384 }),
  }),
});

const oidcConfig = block('A provider with OpenID Connect discovery.', {
  issuerUrl: url('Issuer of the provider.'),
  clientId: Type.String({ minLength: 1, maxLength: 256, description: 'Client identifier.' }),
  ...common,
  userInfoOverride: userInfo('Used in place of the discovered userinfo endpoint.'),
  subjectClaim: text('Claim used as the subject; `sub` when absent.', {
    pattern: '^([a-zA-Z_][a-zA-Z0-9_]*)?$',
    maxLength: 128,
  }),
});

/** Identity providers, in the order in which the user visits them. */
export const upstreamProviders = Type.Array(
  Closed({
    name: DnsLabel('Name that `providerName` and `subjectProviderName` refer to.'),
    type: Type.Enum(['oauth2', 'oidc'], { description: 'Which of `oauth2Config` and `oidcConfig` is set.' }),
    oauth2Config,
    oidcConfig,
  }),
  {
    minItems: 1,
    maxItems: 8,
    description: 'Identity providers, in the order in which the user visits them.',
    ...mapBy('name'),
  },
);

const reservedParameters = (): Rule =>
  rule<Record<string, string>>('additionalAuthorizationParams', {
    rule: `!self.exists(p, p in [${RESERVED_PARAMETERS.map((name) => `'${name}'`).join(', ')}])`,
    message: 'parameters that the gateway sets itself cannot be overridden',
    check: (self) => !Object.keys(self).some((name) => RESERVED_PARAMETERS.includes(name)),
  });

export const upstreamRules: Rule[] = [
  ...union('', 'type', [
    { type: 'oauth2', member: 'oauth2Config' },
    { type: 'oidc', member: 'oidcConfig' },
  ]),
  ...at('oauth2Config', [
    safeUrl('', 'authorizationEndpoint'),
    safeUrl('', 'tokenEndpoint'),
    exactlyOne('', 'clientId', 'dcrConfig'),
    atMostOne('', 'dcrConfig', 'clientSecretRef'),
    exactlyOne('dcrConfig', 'discoveryUrl', 'registrationEndpoint'),
    reservedParameters(),
    userInfoUrl('userInfo'),
  ]),
  ...at('oidcConfig', [safeUrl('', 'issuerUrl'), reservedParameters(), userInfoUrl('userInfoOverride')]),
];

type Holder = Readonly<Record<string, { readonly endpointUrl?: string } | boolean | undefined>>;

/** `safeUrl` for the userinfo endpoint, whose flag stands in the block around it. */
function userInfoUrl(member: string): Rule {
  const inner = safeUrl('', 'endpointUrl');
  return rule<Holder>('', {
    field: `${member}.endpointUrl`,
    rule: `!has(self.${member}) || ${inner.rule.replaceAll('self.endpointUrl', `self.${member}.endpointUrl`)}`,
    message: inner.message,
    check: (self) => {
      const holder = self[member];
      if (typeof holder !== 'object') return true;
      return inner.check({ ...holder, insecureAllowHTTP: self['insecureAllowHTTP'] } as never);
    },
  });
}
