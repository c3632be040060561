import { Type } from 'typebox';
import { text } from '../../../contract/optional.ts';
import { OperationError } from '../../../http/endpoint/request-error.ts';
import { defineManagementOperation } from '../../operation.ts';
import { findVersion } from '../lookup/list-servers.ts';
import { ServerRecord } from '../schema/server-json.ts';
import { READING_ERRORS } from '../registry-errors.ts';
import { PROTOCOL_BASE, registryName } from './protocol-base.ts';

/** @see MCP registry, generic API, revision 2025-12-01 */
export const getProtocolServer = defineManagementOperation({
  id: 'getProtocolServer',
  method: 'GET',
  path: `${PROTOCOL_BASE}/servers/{serverName}/versions/{version}`,
  tag: 'registry',
  summary: 'Get a version of a server in the MCP registry protocol',
  input: {
    path: Type.Object({
      registryName,
      serverName: Type.String({ description: 'Name of the server, with its slash as `%2F`.' }),
      version: Type.String({ description: '`latest` or an exact version.' }),
    }),
    query: Type.Object({ include_deleted: text('`true` finds a deleted server too.') }),
  },
  success: { status: 200, body: ServerRecord },
  errors: {
    not_found: { status: 404, message: 'the registry has no such server or version: list its servers' },
    ...READING_ERRORS,
  },
  hasStructuredErrors: true,
  run: async ({ registry }, { path: { serverName, version }, query: { include_deleted } }) => {
    const found = findVersion((await registry.catalog()).servers, serverName, { version, include_deleted });
    if (!found) throw new OperationError('not_found');
    return found;
  },
});
