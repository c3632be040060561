import { Type, type Static, type TObject } from 'typebox';
import { Closed, HttpUrl } from '../contract/fields.ts';
import { isBelow, MOUNTED_FOLDERS, notMounted, PATH_NOT_MOUNTED } from '../contract/mounted-files.ts';
import { ATOMIC, flag, text, texts } from '../contract/optional.ts';
import { caBundleRef, secretKeyRef } from '../contract/references.ts';
import { needs, rule, safeUrl } from '../contract/rule.ts';
import { introspectionField, introspectionRules, resolveIntrospection } from './introspection-settings.ts';
import { createIssuerValidator } from './issuer-validator.ts';
import { defineSource, type ResolvedSource, type SourceScope } from './mode.ts';

/** The issuer itself: what a shared MCPOIDCConfig says once for all its users. */
export const issuerFields = {
  issuer: HttpUrl('Token issuer, compared exactly with `iss`.', { maxLength: 2048 }),
  clientId: text('Client identifier, used for introspection and by `requireClientId`.', { maxLength: 256 }),
  clientSecretRef: secretKeyRef('Client secret; switches on RFC 7662 introspection of opaque tokens.'),
  jwksUrl: Type.Optional(HttpUrl('Key set; found by discovery when absent.', { maxLength: 2048 })),
  introspectionUrl: Type.Optional(HttpUrl('RFC 7662 endpoint; found by discovery when absent.', { maxLength: 2048 })),
  introspection: introspectionField(),
  caBundleRef: caBundleRef(),
  jwksAuthTokenPath: text(
    'File whose bearer token is sent to the key set endpoint; in a cluster below `/etc/vmcp/tokens`, where `podTemplateSpec` can mount it.',
    {
      pattern: '^/.+$',
      maxLength: 4096,
    },
  ),
  allowPrivateIPs: flag('Let the issuer’s endpoints resolve to private addresses.'),
  jwksAllowPrivateIP: flag('Alias of `allowPrivateIPs`.'),
  protectedResourceAllowPrivateIP: flag('Alias of `allowPrivateIPs`.'),
  insecureAllowHTTP: flag('Let the issuer be spoken to without TLS.'),
};

export const issuerRules = [
  safeUrl('', 'issuer'),
  safeUrl('', 'jwksUrl'),
  safeUrl('', 'introspectionUrl'),
  needs('', 'clientSecretRef', 'clientId'),
  ...introspectionRules,
];

type Issuer = Static<TObject<typeof issuerFields>>;

/** What an issuer, in place or shared, becomes. Audience, scopes and resource are the server's own. */
export function resolveIssuer(spec: Issuer, scope: SourceScope): ResolvedSource {
  const { issuer, clientId, clientSecretRef, jwksUrl, introspectionUrl, introspection, jwksAuthTokenPath } = spec;
  const flags = {
    allowPrivateIPs: [spec.allowPrivateIPs, spec.jwksAllowPrivateIP, spec.protectedResourceAllowPrivateIP].includes(
      true,
    ),
    insecureAllowHTTP: spec.insecureAllowHTTP === true,
  };
  scope.checkUrl(issuer, 'issuer', flags);
  scope.checkUrl(jwksUrl, 'jwksUrl', flags);
  scope.checkUrl(introspectionUrl, 'introspectionUrl', flags);
  if (introspectionUrl !== undefined && !clientSecretRef) {
    const message = 'opaque tokens are accepted with clientSecretRef only: set it, or remove this field';
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
      ...(jwksUrl !== undefined && { jwksurl: jwksUrl }),
      ...(introspectionUrl !== undefined && clientSecretRef && { introspectionURL: introspectionUrl }),
      ...(jwksAuthTokenPath !== undefined && { authTokenFile: jwksAuthTokenPath }),
      ...(bundle !== undefined && { cacertPath: bundle }),
      ...(flags.allowPrivateIPs && { allowPrivateIP: true }),
      ...(flags.insecureAllowHTTP && { insecureAllowHTTP: true }),
    },
  };
}

/** An external identity provider, described in place. */
export const inline = defineSource({
  type: 'inline',
  description: 'An external identity provider.',
  spec: Closed(
    {
      ...issuerFields,
      audience: text('Expected `aud`.', { minLength: 1, maxLength: 2048 }),
      scopes: texts('Scopes advertised in the protected resource metadata; none when absent.', {
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
