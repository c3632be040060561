import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { RegistryDetail } from '../schema/registry.ts';
import { READING_ERRORS, REGISTRY_NOT_FOUND } from '../registry-errors.ts';
import { REGISTRY_PATH_ERRORS, RegistryPath } from './registry-path.ts';

export const getRegistry = defineManagementOperation({
  id: 'getRegistry',
  method: 'GET',
  path: `${API_BASE}/registry/{name}`,
  tag: 'registry',
  summary: 'Get a registry with its servers',
  input: { path: RegistryPath },
  success: { status: 200, body: RegistryDetail },
  pathErrors: REGISTRY_PATH_ERRORS,
  errors: { ...REGISTRY_NOT_FOUND, ...READING_ERRORS },
  run: ({ registry }) => registry.detail(),
});
