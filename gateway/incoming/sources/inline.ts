import { Type, type Static, type TObject } from 'typebox';
import { Closed, HttpUrl } from '../../contract/fields.ts';
import { isBelow, MOUNTED_FOLDERS, notMounted, PATH_NOT_MOUNTED } from '../../contract/gateway-config-files.ts';
import { ATOMIC, block, duration, flag, text, texts } from '../../contract/optional.ts';
import { privateKeyJwtSpec, resolvePrivateKeyJwt } from '../../contract/run-config/private-key-jwt.ts';
import { caBundleRef, secretKeyRef } from '../../contract/references.ts';
import { atMostOne, needs, rule, safeUrl } from '../../contract/rule.ts';
import { createIssuerValidator } from '../tokens/issuer-validator.ts';
import { defineSource, type ResolvedSource, type SourceScope } from '../mode.ts';
import { between } from '../../contract/duration.ts';
import type { Incoming } from '../../contract/gateway-config.ts';

/** Settings for introspection replies. */
const introspectionMembers = {
  tokens: Type.Optional(
    Type.Enum(['opaque', 'all'], {
      default: 'opaque',
      description:
        'Tokens that are introspected. `opaque`: those that are no signed JWT, encrypted ones too. `all`: also signed JWTs, whose claims are then those of the response, such as lightweight access tokens of Keycloak.',
    }),
  ),
  cacheTtl: duration(
    'Lifetime of a cached response that accepts a token, 0s to 5m. A revoked token stays valid for this long.',
    { default: '60s' },
  ),
  allowMissingAudience: flag(
    'Accept responses without `aud`. Safe only if the issuer never introspects tokens of other services for this client.',
  ),
  subjectClaim: text(
    'Response member that identifies the user. It must be unique and never be reassigned to another user.',
    {
      default: 'sub',
      pattern: '^[a-zA-Z_][a-zA-Z0-9_]*$',
      maxLength: 128,
    },
  ),
};

/** Rules of the block that holds the field. */
const introspectionRules = [
  rule<{ introspection?: unknown; clientSecretRef?: unknown; privateKeyJwt?: unknown }>('', {
    field: 'introspection',
    rule: '!has(self.introspection) || has(self.clientSecretRef) || has(self.privateKeyJwt)',
    message: 'introspection needs clientSecretRef or privateKeyJwt',
    check: ({ introspection, clientSecretRef, privateKeyJwt }) =>
      introspection === undefined || clientSecretRef !== undefined || privateKeyJwt !== undefined,
  }),
  between('introspection', 'cacheTtl', '0s', '5m'),
];

const resolveIntrospection = ({
  tokens,
  cacheTtl,
  allowMissingAudience,
  subjectClaim,
}: Static<TObject<typeof introspectionMembers>>): NonNullable<Incoming['introspection']> => ({
  ...(tokens === 'all' && { tokens }),
  ...(cacheTtl !== undefined && { cache_ttl: cacheTtl }),
  ...(allowMissingAudience === true && { allow_missing_audience: true }),
  ...(subjectClaim !== undefined && { subject_claim: subjectClaim }),
});

/** Fields of an external issuer, which a shared MCPOIDCConfig has too. */
export const issuerFields = {
  issuer: HttpUrl('Issuer of the tokens. Must equal the `iss` claim exactly.', { maxLength: 2048 }),
  clientId: text('Client identifier for introspection and for `requireClientId`.', { maxLength: 256 }),
  clientSecretRef: secretKeyRef('Client secret. Enables introspection of opaque tokens (RFC 7662).'),
  privateKeyJwt: privateKeyJwtSpec(),
  jwksUrl: Type.Optional(HttpUrl('URL of the JSON Web Key Set. Discovered when absent.', { maxLength: 2048 })),
  introspectionUrl: Type.Optional(
    HttpUrl('Introspection endpoint (RFC 7662). Discovered when absent.', { maxLength: 2048 }),
  ),
  introspection: block('Rules for the introspection of tokens.', introspectionMembers),
  caBundleRef: caBundleRef(),
  jwksAuthTokenPath: text(
    'File that holds the bearer token for the key set endpoint. In a cluster, mount it below `/etc/vmcp/tokens` with `podTemplateSpec`.',
    {
      pattern: '^/.+$',
      maxLength: 4096,
    },
  ),
  allowPrivateIPs: flag('Allow the endpoints of the issuer to resolve to private addresses.'),
  jwksAllowPrivateIP: flag('Alias of `allowPrivateIPs`.'),
  protectedResourceAllowPrivateIP: flag('Alias of `allowPrivateIPs`.'),
  insecureAllowHTTP: flag('Allow http URLs for the issuer.'),
};

export const issuerRules = [
  safeUrl('', 'issuer'),
  safeUrl('', 'jwksUrl'),
  safeUrl('', 'introspectionUrl'),
  needs('', 'clientSecretRef', 'clientId'),
  needs('', 'privateKeyJwt', 'clientId'),
  atMostOne('', 'clientSecretRef', 'privateKeyJwt'),
  ...introspectionRules,
];

type Issuer = Static<TObject<typeof issuerFields>>;

/** Resolves an issuer from `oidcConfig` or MCPOIDCConfig. Audience, scopes and resource belong to the virtual server. */
function resolveIssuer(spec: Issuer, scope: SourceScope): ResolvedSource {
  const { issuer, clientId, clientSecretRef, jwksUrl, introspectionUrl, introspection, jwksAuthTokenPath } = spec;
  const { privateKeyJwt } = spec;
  const introspects = clientSecretRef !== undefined || privateKeyJwt !== undefined;
  const flags = {
    allowPrivateIPs: [spec.allowPrivateIPs, spec.jwksAllowPrivateIP, spec.protectedResourceAllowPrivateIP].includes(
      true,
    ),
    insecureAllowHTTP: spec.insecureAllowHTTP === true,
  };
  scope.checkUrl(issuer, 'issuer', flags);
  scope.checkUrl(jwksUrl, 'jwksUrl', flags);
  scope.checkUrl(introspectionUrl, 'introspectionUrl', flags);
  if (introspectionUrl !== undefined && !introspects) {
    const message =
      'opaque tokens are accepted with clientSecretRef or privateKeyJwt only: set one, or remove this field';
    scope.warning({ reason: 'NoEffect', path: 'introspectionUrl', message });
  }
  if (scope.mode === 'cluster' && jwksAuthTokenPath !== undefined && !isBelow(jwksAuthTokenPath, MOUNTED_FOLDERS)) {
    const message = notMounted(jwksAuthTokenPath, MOUNTED_FOLDERS);
    scope.problem({ reason: PATH_NOT_MOUNTED, path: 'jwksAuthTokenPath', message });
  }
  const bundle = scope.bundleFile(spec.caBundleRef, 'caBundleRef');
  return {
    incoming: { source: 'inline', ...(introspection && { introspection: resolveIntrospection(introspection) }) },
    oidc: {
      issuer,
      ...(clientId !== undefined && { clientID: clientId }),
      ...(clientSecretRef && { clientSecretFile: scope.secretFile(clientSecretRef) }),
      ...(privateKeyJwt && { private_key_jwt: resolvePrivateKeyJwt(privateKeyJwt, scope) }),
      ...(jwksUrl !== undefined && { jwksurl: jwksUrl }),
      ...(introspectionUrl !== undefined && introspects && { introspectionURL: introspectionUrl }),
      ...(jwksAuthTokenPath !== undefined && { authTokenFile: jwksAuthTokenPath }),
      ...(bundle !== undefined && { cacertPath: bundle }),
      ...(flags.allowPrivateIPs && { allowPrivateIP: true }),
      ...(flags.insecureAllowHTTP && { insecureAllowHTTP: true }),
    },
  };
}

/** Tokens of an external identity provider. */
export const inline = defineSource({
  type: 'inline',
  description: 'An external identity provider.',
  spec: Closed(
    {
      ...issuerFields,
      audience: text('Expected `aud` claim.', { minLength: 1, maxLength: 2048 }),
      scopes: texts('Scopes advertised in the protected resource metadata. None when absent.', {
        maxItems: 64,
        ...ATOMIC,
      }),
    },
    { description: 'Set when `type` is `inline`.' },
  ),
  rules: [
    ...issuerRules,
    rule<{ audience?: string }>('', {
      field: 'audience',
      rule: 'has(self.audience)',
      message: 'set audience, else a token for any other service would be accepted',
      check: (self) => self.audience !== undefined,
    }),
  ],
  resolve: resolveIssuer,
  create: createIssuerValidator,
});
