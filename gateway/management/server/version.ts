import { Type } from 'typebox';
import { API_BASE, defineManagementOperation } from '../operation.ts';

export const getVersion = defineManagementOperation({
  id: 'getVersion',
  method: 'GET',
  path: `${API_BASE}/version`,
  tag: 'server',
  summary: 'Get the version of vmcp',
  input: {},
  success: { status: 200, body: Type.Object({ version: Type.String() }, { title: 'Version' }) },
  errors: {},
  run: ({ version }) => ({ version }),
});
