import { Type } from 'typebox';
import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { RegistrySummary } from '../schema/registry.ts';
import { READING_ERRORS } from '../registry-errors.ts';

export const listRegistries = defineManagementOperation({
  id: 'listRegistries',
  method: 'GET',
  path: `${API_BASE}/registry`,
  tag: 'registry',
  summary: 'List the registries',
  input: {},
  success: { status: 200, body: Type.Object({ registries: Type.Array(RegistrySummary) }) },
  errors: READING_ERRORS,
  run: async ({ registry }) => ({ registries: [await registry.summary()] }),
});
