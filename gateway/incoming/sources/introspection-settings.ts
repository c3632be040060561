import { Type, type Static, type TObject } from 'typebox';
import { between } from '../../contract/duration-rules.ts';
import type { Incoming } from '../../contract/gateway-config.ts';
import { block, duration, flag, text } from '../../contract/optional.ts';
import { rule } from '../../contract/rule.ts';

const members = {
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

/** Settings for introspection replies. */
export const introspectionField = () => block('Rules for the introspection of tokens.', members);

/** Rules of the block that holds the field. */
export const introspectionRules = [
  rule<{ introspection?: unknown; clientSecretRef?: unknown; privateKeyJwt?: unknown }>('', {
    field: 'introspection',
    rule: '!has(self.introspection) || has(self.clientSecretRef) || has(self.privateKeyJwt)',
    message: 'introspection needs clientSecretRef or privateKeyJwt',
    check: ({ introspection, clientSecretRef, privateKeyJwt }) =>
      introspection === undefined || clientSecretRef !== undefined || privateKeyJwt !== undefined,
  }),
  between('introspection', 'cacheTtl', '0s', '5m'),
];

export const resolveIntrospection = ({
  tokens,
  cacheTtl,
  allowMissingAudience,
  subjectClaim,
}: Static<TObject<typeof members>>): NonNullable<Incoming['introspection']> => ({
  ...(tokens === 'all' && { tokens }),
  ...(cacheTtl !== undefined && { cache_ttl: cacheTtl }),
  ...(allowMissingAudience === true && { allow_missing_audience: true }),
  ...(subjectClaim !== undefined && { subject_claim: subjectClaim }),
});
