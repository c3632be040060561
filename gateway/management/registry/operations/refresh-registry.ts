import { Type } from 'typebox';
import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { READING_ERRORS, REGISTRY_NOT_FOUND } from '../registry-errors.ts';
import { REGISTRY_PATH_ERRORS, RegistryPath } from './registry-path.ts';

export const refreshRegistry = defineManagementOperation({
  id: 'refreshRegistry',
  method: 'POST',
  path: `${API_BASE}/registry/{name}/refresh`,
  tag: 'registry',
  summary: 'Read a registry again',
  input: { path: RegistryPath },
  success: { status: 200, body: Type.Object({ status: Type.Literal('refreshed') }) },
  pathErrors: REGISTRY_PATH_ERRORS,
  errors: { ...REGISTRY_NOT_FOUND, ...READING_ERRORS },
  run: async ({ registry }) => {
    await registry.refresh();
    return { status: 'refreshed' };
  },
});
