import { Type } from 'typebox';
import { Closed, Duration, HttpUrl, DnsLabel } from '../../../gateway/contract/fields.ts';
import { ATOMIC, block, flag, text, texts } from '../../../gateway/contract/optional.ts';
import { SecretKeyRef } from '../../../gateway/contract/references.ts';
import { needs, rule, safeUrl, type Rule } from '../../../gateway/contract/rule.ts';

const bounded = (maxLength: number, description: string) => Type.String({ minLength: 1, maxLength, description });
const some = (maxLength: number, description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength }), { minItems: 1, maxItems: 10, description, ...ATOMIC });

/** Static confidential clients that may exchange and delegate tokens. */
export const delegateClients = Type.Optional(
  Type.Array(
    Closed({
      clientId: bounded(256, 'Client identifier.'),
      clientSecretRef: SecretKeyRef('Client secret, at least 32 characters.'),
      audiences: some(2048, 'Audiences that the client may request.'),
      scopes: some(256, 'Scopes that the client may request.'),
    }),
    { maxItems: 10, description: 'Static confidential clients that may exchange and delegate tokens.', ...ATOMIC },
  ),
);

const jwtBearerGrant = block('Accept assertions of this issuer as RFC 7523 grants.', {
  maxAssertionAge: Duration('Maximum age of an accepted assertion, from its `iat`.', { maxLength: 64 }),
  subjectBindings: Type.Array(
    Closed({
      subject: bounded(256, 'Subject of the assertion.'),
      allowedResources: texts('Resources that the subject may request. All when absent.', { maxItems: 64, ...ATOMIC }),
    }),
    { minItems: 1, maxItems: 64, description: 'Subjects that may use the grant, with their resources.', ...ATOMIC },
  ),
  acceptedAudiences: texts(
    'Audiences that an assertion may have. The issuer and the token endpoint of this server when absent.',
    { maxItems: 16, ...ATOMIC },
  ),
});

/** Other issuers whose tokens may be exchanged. */
export const trustedIssuers = Type.Optional(
  Type.Array(
    Closed({
      issuerUrl: HttpUrl('Issuer of the tokens.', { maxLength: 2048 }),
      jwksUrl: Type.Optional(HttpUrl('URL of the JSON Web Key Set. Discovered when absent.', { maxLength: 2048 })),
      expectedAudience: text('Expected `aud` claim of tokens that may be exchanged.', {
        minLength: 1,
        maxLength: 2048,
      }),
      allowedActors: texts(
        'Actors that may act for the subjects. All when absent.',
        { maxItems: 64, ...ATOMIC },
        { maxLength: 256 },
      ),
      allowedDelegateClients: texts(
        'Delegate clients that may present these tokens; `*` alone means all.',
        { maxItems: 64, ...ATOMIC },
        { maxLength: 256 },
      ),
      actorClaim: text('Claim of the subject token that names the actor. The client is the actor when absent.', {
        minLength: 1,
        maxLength: 128,
      }),
      actorMatcher: text('Regular expression that the whole name of the actor must match.', {
        minLength: 1,
        maxLength: 1024,
      }),
      allowMayAct: flag('Require that a `may_act` claim of the subject token names the actor.'),
      allowPrivateIPs: flag('Allow the key set URL to resolve to a private address.'),
      insecureAllowHTTP: flag('Allow http URLs for the issuer.'),
      jwtBearerGrant,
    }),
    { maxItems: 20, description: 'Other issuers whose tokens may be exchanged.', ...ATOMIC },
  ),
);

interface Issuer {
  readonly expectedAudience?: string;
  readonly allowedActors?: readonly string[];
  readonly allowedDelegateClients?: readonly string[];
  readonly actorClaim?: string;
  readonly actorMatcher?: string;
  readonly allowMayAct?: boolean;
  readonly allowPrivateIPs?: boolean;
  readonly jwksUrl?: string;
  readonly jwtBearerGrant?: { readonly maxAssertionAge: string };
}

const RESERVED_CLAIMS = ['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti'];

export const trustedIssuerRules: Rule[] = [
  safeUrl('', 'issuerUrl'),
  safeUrl('', 'jwksUrl'),
  rule<Issuer>('', {
    field: 'allowPrivateIPs',
    rule: '!has(self.allowPrivateIPs) || !self.allowPrivateIPs || has(self.jwksUrl)',
    message: 'allowPrivateIPs needs jwksUrl',
    check: (self) => self.allowPrivateIPs !== true || self.jwksUrl !== undefined,
  }),
  rule<Issuer>('', {
    field: 'expectedAudience',
    rule: 'has(self.expectedAudience) || (has(self.jwtBearerGrant) && !has(self.allowedDelegateClients))',
    message: 'expectedAudience is required unless only jwtBearerGrant is used',
    check: (self) =>
      self.expectedAudience !== undefined ||
      (self.jwtBearerGrant !== undefined && self.allowedDelegateClients === undefined),
  }),
  needs('', 'expectedAudience', 'allowedDelegateClients'),
  needs('', 'allowedActors', 'allowedDelegateClients'),
  needs('', 'actorClaim', 'allowedDelegateClients'),
  needs('', 'actorMatcher', 'allowedDelegateClients'),
  rule<Issuer>('', {
    field: 'allowedDelegateClients',
    rule: "!has(self.allowedDelegateClients) || !('*' in self.allowedDelegateClients) || (size(self.allowedDelegateClients) == 1 && !(has(self.allowMayAct) && self.allowMayAct))",
    message: '"*" must be the only entry of allowedDelegateClients and cannot be combined with allowMayAct',
    check: ({ allowedDelegateClients: clients = [], allowMayAct }) =>
      !clients.includes('*') || (clients.length === 1 && allowMayAct !== true),
  }),
  rule<Issuer>('', {
    field: 'actorClaim',
    rule: `!has(self.actorClaim) || !(self.actorClaim in [${RESERVED_CLAIMS.map((claim) => `'${claim}'`).join(', ')}])`,
    message: 'actorClaim cannot be a registered claim',
    check: ({ actorClaim }) => actorClaim === undefined || !RESERVED_CLAIMS.includes(actorClaim),
  }),
];

/** Optional name of an upstream provider. */
export const providerName = (description: string) => Type.Optional(DnsLabel(description));
