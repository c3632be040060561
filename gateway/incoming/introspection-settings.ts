import type { Static, TObject } from 'typebox';
import { between } from '../contract/duration-rules.ts';
import type { Incoming } from '../contract/gateway-config.ts';
import { block, duration, flag, text } from '../contract/optional.ts';
import { needs } from '../contract/rule.ts';

const members = {
  cacheTtl: duration(
    'How long an answer that accepts a token is kept, from 0s to 5m: so long a token may outlive its revocation.',
    { default: '60s' },
  ),
  allowMissingAudience: flag(
    'Accept answers without `aud`. Only where the issuer introspects no token of another service for this client.',
  ),
  subjectClaim: text('Member of the answer that says who the user is; unique, and never given to another user.', {
    default: 'sub',
    pattern: '^[a-zA-Z_][a-zA-Z0-9_]*$',
    maxLength: 128,
  }),
};

/** How answers about opaque tokens are judged. */
export const introspectionField = () => block('How answers about opaque tokens are judged.', members);

/** Of the block that holds the field. */
export const introspectionRules = [
  needs('', 'introspection', 'clientSecretRef'),
  between('introspection', 'cacheTtl', '0s', '5m'),
];

export const resolveIntrospection = ({
  cacheTtl,
  allowMissingAudience,
  subjectClaim,
}: Static<TObject<typeof members>>): NonNullable<Incoming['introspection']> => ({
  ...(cacheTtl !== undefined && { cache_ttl: cacheTtl }),
  ...(allowMissingAudience === true && { allow_missing_audience: true }),
  ...(subjectClaim !== undefined && { subject_claim: subjectClaim }),
});
