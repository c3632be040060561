import { OperationError } from '../../../http/endpoint/request-error.ts';
import { API_BASE, defineManagementOperation } from '../../operation.ts';

export const addRegistry = defineManagementOperation({
  id: 'addRegistry',
  method: 'POST',
  path: `${API_BASE}/registry`,
  tag: 'registry',
  summary: 'Add a registry',
  description: 'Always answers 501: there is one registry, `default`, whose source can be chosen.',
  input: {},
  success: { status: 201 },
  errors: {
    not_implemented: {
      status: 501,
      message: 'there is one registry: PUT /api/v1beta/registry/default chooses its source',
    },
  },
  run: () => {
    throw new OperationError('not_implemented');
  },
});
