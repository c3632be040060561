import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { CHANGE_ERRORS, PATH_ERRORS, READ_ERRORS, WorkloadPath } from './workload-request.ts';

export const deleteWorkload = defineManagementOperation({
  id: 'deleteWorkload',
  method: 'DELETE',
  path: `${API_BASE}/workloads/{name}`,
  tag: 'workloads',
  summary: 'Delete a workload',
  description: 'Deletes it in the background. Its secrets stay.',
  input: { path: WorkloadPath },
  success: { status: 202 },
  errors: { ...READ_ERRORS, ...CHANGE_ERRORS },
  pathErrors: PATH_ERRORS,
  run: async ({ workloads }, { path: { name } }) => {
    await workloads.get(name); // an unknown name is an error here
    await workloads.remove([name]);
  },
});
