import { Type } from 'typebox';
import { Closed } from '../../gateway/contract/fields.ts';
import { block, text, whole } from '../../gateway/contract/optional.ts';
import { defineKind, statusFields, statusNames, type ObjectOf } from './kind.ts';

const count = (description: string) => whole(description, { format: 'int32' });

/** What servers belong to, so that a VirtualMCPServer can serve them together. */
export const MCPGroup = defineKind({
  kind: 'MCPGroup',
  collection: 'groups',
  role: 'group',
  // Members refer to their group as well, but work without it.
  referencedAs: { fields: ['groupRef'], protectedFrom: ['VirtualMCPServer'] },
  shortNames: ['mcpg'],
  description: 'Servers that belong together. Servers name the group, not the other way round.',
  spec: block('What is wanted.', { description: text('What the group is for.', { maxLength: 4096 }) }),
  status: Closed(
    {
      ...statusFields,
      phase: Type.Optional(Type.Enum(['Pending', 'Ready', 'Failed'], { default: 'Pending', description: 'Summary.' })),
      servers: statusNames('MCPServers of the group.'),
      serverCount: count('Number of MCPServers.'),
      remoteProxies: statusNames('Remote proxies of the group.'),
      remoteProxyCount: count('Number of remote proxies.'),
      entries: statusNames('MCPServerEntries of the group.'),
      entryCount: count('Number of MCPServerEntries.'),
    },
    { description: 'What was found.' },
  ),
  columns: [
    { name: 'Servers', type: 'integer', jsonPath: '.status.serverCount', description: 'MCPServers.' },
    { name: 'Entries', type: 'integer', jsonPath: '.status.entryCount', description: 'MCPServerEntries.' },
    { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'Summary.' },
    {
      name: 'Checked',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="MCPServersChecked")].status',
      description: 'Whether the members could be listed.',
    },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp', description: 'Age.' },
  ],
});
export type MCPGroup = ObjectOf<typeof MCPGroup>;
