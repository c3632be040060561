import { Closed } from '../../gateway/contract/fields.ts';
import { SET, text } from '../../gateway/contract/optional.ts';
import { toolFilter, toolOverrides } from './fields/tools.ts';
import { AGE, conditionColumn, defineKind, statusFields, type ObjectOf } from './schema/kind.ts';

/** Rules for the tools of a backend, shared by several servers. */
export const MCPToolConfig = defineKind({
  kind: 'MCPToolConfig',
  collection: 'toolConfigs',
  role: 'config',
  referencedAs: { fields: ['toolConfigRef'] },
  shortNames: ['tc', 'toolconfig'],
  description: 'Filter and overrides for the tools of a server, shared by several servers.',
  spec: Closed({ toolsFilter: toolFilter(SET), toolsOverride: toolOverrides() }, { description: 'Desired state.' }),
  status: Closed({ ...statusFields, configHash: text('Digest of the spec.') }, { description: 'Observed state.' }),
  columns: [conditionColumn('Valid'), AGE],
});
export type MCPToolConfig = ObjectOf<typeof MCPToolConfig>;
