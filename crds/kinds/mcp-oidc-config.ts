import { Type } from 'typebox';
import { Closed } from '../../gateway/contract/fields.ts';
import { block, text } from '../../gateway/contract/optional.ts';
import { at, atMostOne, rule, union } from '../../gateway/contract/rule.ts';
import { issuerFields, issuerRules } from '../../gateway/incoming/sources/inline.ts';
import { serviceAccountFields, serviceAccountRules } from '../../gateway/incoming/sources/kubernetes.ts';
import { AGE, conditionColumn, defineKind, statusFields, type ObjectOf } from './schema/kind.ts';

const CLUSTER = ['kubernetes', 'kubernetesServiceAccount'] as const;

interface Spec {
  readonly type: string;
  readonly inline?: unknown;
  readonly kubernetes?: unknown;
  readonly kubernetesServiceAccount?: unknown;
}

/** Token issuer settings shared by several servers. */
export const MCPOIDCConfig = defineKind({
  kind: 'MCPOIDCConfig',
  collection: 'oidcConfigs',
  role: 'config',
  referencedAs: { fields: ['oidcConfigRef'] },
  shortNames: ['mcpoidc'],
  description: 'Token issuer settings shared by several servers.',
  spec: Closed(
    {
      type: Type.Enum(['inline', ...CLUSTER], {
        description:
          '`inline`: tokens of an external identity provider. `kubernetes`: service account tokens of the cluster.',
      }),
      inline: block('Set when `type` is `inline`.', issuerFields),
      kubernetes: block('Optional settings for `type: kubernetes`.', serviceAccountFields),
      kubernetesServiceAccount: block('Alias of `kubernetes`.', serviceAccountFields),
    },
    { description: 'Desired state.' },
  ),
  status: Closed({ ...statusFields, configHash: text('Digest of the spec.') }, { description: 'Observed state.' }),
  rules: [
    ...union('', 'type', [{ type: 'inline', member: 'inline' }]),
    ...CLUSTER.map((member) =>
      rule<Spec>('', {
        field: member,
        rule: `self.type != 'inline' || !has(self.${member})`,
        message: `set ${member} only if type is kubernetes`,
        check: (self) => self.type !== 'inline' || self[member] === undefined,
      }),
    ),
    atMostOne('', 'kubernetes', 'kubernetesServiceAccount'),
    ...at('inline', issuerRules),
    ...CLUSTER.flatMap((member) => at(member, serviceAccountRules)),
  ],
  columns: [
    { name: 'Source', type: 'string', jsonPath: '.spec.type', description: 'Source of the tokens.' },
    conditionColumn('Valid'),
    AGE,
  ],
});
export type MCPOIDCConfig = ObjectOf<typeof MCPOIDCConfig>;
