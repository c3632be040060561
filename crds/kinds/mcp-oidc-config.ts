import { Type } from 'typebox';
import { Closed } from '../../gateway/contract/fields.ts';
import { block, text } from '../../gateway/contract/optional.ts';
import { at, atMostOne, rule, union } from '../../gateway/contract/rule.ts';
import { issuerFields, issuerRules } from '../../gateway/incoming/inline.ts';
import { serviceAccountFields, serviceAccountRules } from '../../gateway/incoming/kubernetes.ts';
import { defineKind, statusFields, type ObjectOf } from './kind.ts';

const CLUSTER = ['kubernetes', 'kubernetesServiceAccount'] as const;

interface Spec {
  readonly type: string;
  readonly inline?: unknown;
  readonly kubernetes?: unknown;
  readonly kubernetesServiceAccount?: unknown;
}

/** Whose tokens are accepted, once for several servers. */
export const MCPOIDCConfig = defineKind({
  kind: 'MCPOIDCConfig',
  collection: 'oidcConfigs',
  role: 'config',
  referencedAs: { fields: ['oidcConfigRef'] },
  shortNames: ['mcpoidc'],
  description: 'Whose tokens are accepted, said once for several servers.',
  spec: Closed(
    {
      type: Type.Enum(['inline', ...CLUSTER], {
        description: '`inline`: an external identity provider. `kubernetes`: in-cluster service account tokens.',
      }),
      inline: block('Set when `type` is `inline`.', issuerFields),
      kubernetes: block('May be set when `type` is `kubernetes`.', serviceAccountFields),
      kubernetesServiceAccount: block('Alias of `kubernetes`.', serviceAccountFields),
    },
    { description: 'What is wanted.' },
  ),
  status: Closed({ ...statusFields, configHash: text('Digest of the spec.') }, { description: 'What was found.' }),
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
    { name: 'Source', type: 'string', jsonPath: '.spec.type', description: 'Where tokens come from.' },
    {
      name: 'Valid',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Valid")].status',
      description: 'Whether it can be used.',
    },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp', description: 'Age.' },
  ],
});
export type MCPOIDCConfig = ObjectOf<typeof MCPOIDCConfig>;
