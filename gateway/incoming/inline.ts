import { Closed, HttpUrl } from '../contract/fields.ts';
import { ATOMIC, flag, text, texts } from '../contract/optional.ts';
import { caBundleRef, secretKeyRef } from '../contract/references.ts';
import { needs, rule, safeUrl } from '../contract/rule.ts';
import { declareIncoming } from './mode.ts';
import { Type } from 'typebox';

/** The issuer itself: what a shared MCPOIDCConfig says once for all its users. */
export const issuerFields = {
  issuer: HttpUrl('Token issuer, compared exactly with `iss`.', { maxLength: 2048 }),
  clientId: text('Client identifier, used for introspection and by `requireClientId`.', { maxLength: 256 }),
  clientSecretRef: secretKeyRef('Client secret; switches on RFC 7662 introspection of opaque tokens.'),
  jwksUrl: Type.Optional(HttpUrl('Key set; found by discovery when absent.', { maxLength: 2048 })),
  introspectionUrl: Type.Optional(HttpUrl('RFC 7662 endpoint; found by discovery when absent.', { maxLength: 2048 })),
  caBundleRef: caBundleRef(),
  jwksAuthTokenPath: text('File whose bearer token is sent to the key set endpoint.', {
    pattern: '^/.+$',
    maxLength: 4096,
  }),
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
];

/** An external identity provider, described in place. */
export const inline = declareIncoming({
  type: 'inline',
  description: 'An external identity provider.',
  supported: false,
  spec: Closed(
    {
      ...issuerFields,
      audience: text('Expected `aud`.', { minLength: 1, maxLength: 2048 }),
      scopes: texts('Scopes advertised in the protected resource metadata; `openid` when absent.', {
        maxItems: 64,
        ...ATOMIC,
      }),
    },
    { description: 'Set when `type` is `inline`.' },
  ),
  rules: [
    ...issuerRules,
    rule<{ audience?: string; clientId?: string }>('', {
      rule: 'has(self.audience) || has(self.clientId)',
      message: 'set audience or clientId, else a token for any other service would be accepted',
      check: (self) => self.audience !== undefined || self.clientId !== undefined,
    }),
  ],
});
