import { defineManagementOperation } from '../operation.ts';

export const getHealth = defineManagementOperation({
  id: 'getHealth',
  method: 'GET',
  path: '/health',
  tag: 'server',
  summary: 'Check that the API answers',
  input: {},
  success: { status: 204 },
  errors: {},
  run: () => undefined,
});
