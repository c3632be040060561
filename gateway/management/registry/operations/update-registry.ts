import { Type } from 'typebox';
import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { RegistryUpdate } from '../schema/settings.ts';
import { SOURCE_TYPES } from '../schema/source-type.ts';
import { UPDATE_ERRORS } from '../registry-errors.ts';
import { REGISTRY_PATH_ERRORS, RegistryPath } from './registry-path.ts';

export const updateRegistry = defineManagementOperation({
  id: 'updateRegistry',
  method: 'PUT',
  path: `${API_BASE}/registry/{name}`,
  tag: 'registry',
  summary: 'Choose the source of a registry',
  description:
    'Without a source the built-in registry is used. A URL that ends in `.json` or has a query is a document, of type `url`. Any other URL is probed: a server of the MCP registry protocol has the type `api`. The login at the previous source ends.',
  input: { path: RegistryPath, body: RegistryUpdate },
  success: {
    status: 200,
    body: Type.Object({ type: Type.Enum([...SOURCE_TYPES], { description: 'Kind of the source.' }) }),
  },
  pathErrors: REGISTRY_PATH_ERRORS,
  errors: UPDATE_ERRORS,
  run: async ({ registry }, { body }) => ({ type: await registry.update(body) }),
});
