import { Type } from 'typebox';
import { Closed } from '../../gateway/contract/fields.ts';
import { text } from '../../gateway/contract/optional.ts';
import { cedarFields, groupFields } from '../../gateway/policy/authorization/config.ts';
import { AGE, conditionColumn, defineKind, statusFields, type ObjectOf } from './schema/kind.ts';

/** Policies shared by several servers. */
export const MCPAuthzConfig = defineKind({
  kind: 'MCPAuthzConfig',
  collection: 'authzConfigs',
  role: 'config',
  referencedAs: { fields: ['authzConfigRef'] },
  shortNames: ['authzcfg'],
  description: 'Access control by Cedar policies, shared by several servers.',
  spec: Closed(
    {
      type: Type.Enum(['cedarv1'], { description: 'Kind of policy.' }),
      config: Closed({ ...cedarFields, ...groupFields }, { description: 'Cedar policies and entities.' }),
    },
    { description: 'Desired state.' },
  ),
  status: Closed({ ...statusFields, configHash: text('Digest of the spec.') }, { description: 'Observed state.' }),
  columns: [
    { name: 'Type', type: 'string', jsonPath: '.spec.type', description: 'Kind of policy.' },
    conditionColumn('Valid'),
    AGE,
  ],
});
export type MCPAuthzConfig = ObjectOf<typeof MCPAuthzConfig>;
