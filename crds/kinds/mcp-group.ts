import { Type } from 'typebox';
import { Closed } from '../../gateway/contract/fields.ts';
import { block, text, whole } from '../../gateway/contract/optional.ts';
import { AGE, conditionColumn, defineKind, statusFields, statusNames, type ObjectOf } from './schema/kind.ts';

const count = (description: string) => whole(description, { format: 'int32' });

/** Group of servers that VirtualMCPServers serve together. */
export const MCPGroup = defineKind({
  kind: 'MCPGroup',
  collection: 'groups',
  role: 'group',
  // Members refer to their group as well, but work without it.
  referencedAs: { fields: ['groupRef'], protectedFrom: ['VirtualMCPServer'] },
  shortNames: ['mcpg'],
  description: 'Group of MCP servers. Each server names its group.',
  spec: block('Desired state.', { description: text('Purpose of the group.', { maxLength: 4096 }) }),
  status: Closed(
    {
      ...statusFields,
      phase: Type.Optional(
        Type.Enum(['Pending', 'Ready', 'Failed'], { default: 'Pending', description: 'Summary of the conditions.' }),
      ),
      servers: statusNames('MCPServers of the group.'),
      serverCount: count('Number of MCPServers.'),
      remoteProxies: statusNames('Remote proxies of the group.'),
      remoteProxyCount: count('Number of remote proxies.'),
      entries: statusNames('MCPServerEntries of the group.'),
      entryCount: count('Number of MCPServerEntries.'),
    },
    { description: 'Observed state.' },
  ),
  columns: [
    { name: 'Servers', type: 'integer', jsonPath: '.status.serverCount', description: 'Number of MCPServers.' },
    { name: 'Entries', type: 'integer', jsonPath: '.status.entryCount', description: 'Number of MCPServerEntries.' },
    { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'Summary of the conditions.' },
    conditionColumn('MCPServersChecked', 'Checked'),
    AGE,
  ],
});
export type MCPGroup = ObjectOf<typeof MCPGroup>;
