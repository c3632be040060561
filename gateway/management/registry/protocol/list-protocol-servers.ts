import { Type } from 'typebox';
import { text } from '../../../contract/optional.ts';
import { defineManagementOperation } from '../../operation.ts';
import { listServers } from '../lookup/list-servers.ts';
import { ServerPage } from '../schema/server-json.ts';
import { READING_ERRORS } from '../registry-errors.ts';
import { PROTOCOL_BASE, registryName } from './protocol-base.ts';

/** @see MCP registry, generic API, revision 2025-12-01 */
export const listProtocolServers = defineManagementOperation({
  id: 'listProtocolServers',
  method: 'GET',
  path: `${PROTOCOL_BASE}/servers`,
  tag: 'registry',
  summary: 'List the servers of a registry in the MCP registry protocol',
  input: {
    path: Type.Object({ registryName }),
    query: Type.Object({
      search: text('Text in the name, title or description.'),
      q: text('The same as `search`.'),
      cursor: text('`nextCursor` of the page before.'),
      page: text('Number of the page, from 1, instead of a cursor.'),
      limit: text('Largest number of servers: 1 to 100, 30 by default.'),
      version: text('`latest` or an exact version.'),
      updated_since: text('Lists servers changed since this time (RFC 3339), also deleted ones.'),
      include_deleted: text('`true` lists deleted servers too.'),
    }),
  },
  success: { status: 200, body: ServerPage },
  errors: READING_ERRORS,
  hasStructuredErrors: true,
  run: async ({ registry }, { query }) => listServers((await registry.catalog()).servers, query),
});
