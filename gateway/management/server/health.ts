import { defineManagementOperation } from '../operation.ts';

export const getHealth = defineManagementOperation({
  id: 'getHealth',
  method: 'GET',
  path: '/health',
  tag: 'server',
  summary: 'Check that the API answers',
  input: {},
  success: {
    status: 204,
    headers: {
      'X-Server-Nonce': {
        description: 'Random text of this process. Another text means that vmcp has restarted.',
        value: ({ nonce }) => nonce,
      },
    },
  },
  errors: {},
  run: () => undefined,
});
