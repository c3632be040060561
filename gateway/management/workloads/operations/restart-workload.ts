import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { CHANGE_ERRORS, PATH_ERRORS, READ_ERRORS, WorkloadPath } from './workload-request.ts';

export const restartWorkload = defineManagementOperation({
  id: 'restartWorkload',
  method: 'POST',
  path: `${API_BASE}/workloads/{name}/restart`,
  tag: 'workloads',
  summary: 'Restart a workload',
  description: 'Restarts it in the background, or starts it if it is stopped.',
  input: { path: WorkloadPath },
  success: { status: 202 },
  errors: { ...READ_ERRORS, ...CHANGE_ERRORS },
  pathErrors: PATH_ERRORS,
  run: async ({ workloads }, { path: { name } }) => {
    await workloads.get(name); // an unknown name is an error here
    await workloads.restart([name]);
  },
});
