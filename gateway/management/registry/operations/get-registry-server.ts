import { Type } from 'typebox';
import { OperationError } from '../../../http/endpoint/request-error.ts';
import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { findProblem, findServer } from '../lookup/find-server.ts';
import { ServerLookup } from '../schema/entries.ts';
import { READING_ERRORS, REGISTRY_NOT_FOUND } from '../registry-errors.ts';
import { REGISTRY_PATH_ERRORS, RegistryPath } from './registry-path.ts';

export const getRegistryServer = defineManagementOperation({
  id: 'getRegistryServer',
  method: 'GET',
  path: `${API_BASE}/registry/{name}/servers/{serverName}`,
  tag: 'registry',
  summary: 'Get a server of a registry',
  description: 'A name without a slash also finds the only server that ends in `/NAME`.',
  input: {
    path: Type.Object({
      ...RegistryPath.properties,
      serverName: Type.String({ minLength: 1, description: 'Name of the server, with its slash as `%2F`.' }),
    }),
  },
  success: { status: 200, body: ServerLookup },
  pathErrors: REGISTRY_PATH_ERRORS,
  errors: {
    ...REGISTRY_NOT_FOUND,
    server_not_found: { status: 404, message: 'Server not found: GET the servers of the registry lists them' },
    ...READING_ERRORS,
  },
  run: async ({ registry }, { path: { serverName } }) => {
    const entries = await registry.entries();
    const found = findServer(entries, serverName);
    if (!found) throw new OperationError('server_not_found', findProblem(entries, serverName));
    return found;
  },
});
