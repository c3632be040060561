import { Type } from 'typebox';
import { Closed } from '../../gateway/contract/fields.ts';
import { text } from '../../gateway/contract/optional.ts';
import { at, rule } from '../../gateway/contract/rule.ts';
import { mutatingWebhooks } from '../../gateway/policy/webhook/mutating.ts';
import { validatingWebhooks } from '../../gateway/policy/webhook/validating.ts';
import { AGE, conditionColumn, defineKind, statusFields, type ObjectOf } from './schema/kind.ts';

interface Spec {
  readonly mutating?: unknown;
  readonly validating?: unknown;
}

/** Webhooks that decide on calls, shared by several virtual servers. */
export const MCPWebhookConfig = defineKind({
  kind: 'MCPWebhookConfig',
  collection: 'webhookConfigs',
  role: 'config',
  referencedAs: { fields: ['webhookConfigRef'] },
  shortNames: ['mwc'],
  description: 'Webhooks that decide on calls, shared by several virtual servers.',
  spec: Closed(
    {
      mutating: Type.Optional(mutatingWebhooks.spec),
      validating: Type.Optional(validatingWebhooks.spec),
    },
    { description: 'Desired state.' },
  ),
  status: Closed({ ...statusFields, configHash: text('Digest of the spec.') }, { description: 'Observed state.' }),
  rules: [
    rule<Spec>('', {
      field: 'validating',
      rule: 'has(self.mutating) || has(self.validating)',
      message: 'set at least one webhook in mutating or validating',
      check: (self) => self.mutating !== undefined || self.validating !== undefined,
    }),
    ...[mutatingWebhooks, validatingWebhooks].flatMap(({ type, rules = [] }) => at(type, rules)),
  ],
  columns: [conditionColumn('Valid'), AGE],
});
export type MCPWebhookConfig = ObjectOf<typeof MCPWebhookConfig>;
