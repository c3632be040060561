import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { DELETE_ERRORS } from '../registry-errors.ts';
import { REGISTRY_PATH_ERRORS, RegistryPath } from './registry-path.ts';

export const deleteRegistry = defineManagementOperation({
  id: 'deleteRegistry',
  method: 'DELETE',
  path: `${API_BASE}/registry/{name}`,
  tag: 'registry',
  summary: 'Delete a registry',
  description: 'The default registry cannot be deleted.',
  input: { path: RegistryPath },
  success: { status: 204 },
  pathErrors: REGISTRY_PATH_ERRORS,
  errors: DELETE_ERRORS,
  run: ({ registry }) => registry.remove(),
});
