import { Type } from 'typebox';
import { Closed, DnsLabel } from '../../gateway/contract/fields.ts';
import { mapBy } from '../../gateway/contract/optional.ts';
import { at, union, type Rule } from '../../gateway/contract/rule.ts';
import { UPSTREAMS } from '../../gateway/authserver/upstream/index.ts';

const [oauth2, oidc] = UPSTREAMS;

/** Identity providers, in the order in which the user visits them. */
export const upstreamProviders = Type.Array(
  Closed({
    name: DnsLabel('Name that `providerName` and `subjectProviderName` refer to.'),
    type: Type.Enum(
      UPSTREAMS.map(({ type }) => type),
      { description: 'Which of `oauth2Config` and `oidcConfig` is set.' },
    ),
    oauth2Config: Type.Optional(oauth2.spec),
    oidcConfig: Type.Optional(oidc.spec),
  }),
  {
    minItems: 1,
    maxItems: 8,
    description: 'Identity providers, in the order in which the user visits them.',
    ...mapBy('name'),
  },
);

export const upstreamRules: Rule[] = [
  ...union(
    '',
    'type',
    UPSTREAMS.map(({ type }) => ({ type, member: `${type}Config` })),
  ),
  ...UPSTREAMS.flatMap(({ type, rules }) => at(`${type}Config`, rules)),
];
