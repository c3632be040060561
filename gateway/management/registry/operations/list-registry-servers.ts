import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { serverLists } from '../lookup/find-server.ts';
import { ServerLists } from '../schema/entries.ts';
import { READING_ERRORS, REGISTRY_NOT_FOUND } from '../registry-errors.ts';
import { REGISTRY_PATH_ERRORS, RegistryPath } from './registry-path.ts';

export const listRegistryServers = defineManagementOperation({
  id: 'listRegistryServers',
  method: 'GET',
  path: `${API_BASE}/registry/{name}/servers`,
  tag: 'registry',
  summary: 'List the servers of a registry',
  input: { path: RegistryPath },
  success: { status: 200, body: ServerLists },
  pathErrors: REGISTRY_PATH_ERRORS,
  errors: { ...REGISTRY_NOT_FOUND, ...READING_ERRORS },
  run: async ({ registry }) => serverLists(await registry.entries()),
});
