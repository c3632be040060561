import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { CHANGE_ERRORS, PATH_ERRORS, READ_ERRORS, WorkloadPath } from './workload-request.ts';

export const startWorkload = defineManagementOperation({
  id: 'startWorkload',
  method: 'POST',
  path: `${API_BASE}/workloads/{name}/start`,
  tag: 'workloads',
  summary: 'Start a workload',
  description: 'Starts it in the background. The state has the progress, and the reason for a failure.',
  input: { path: WorkloadPath },
  success: { status: 202 },
  errors: { ...READ_ERRORS, ...CHANGE_ERRORS },
  pathErrors: PATH_ERRORS,
  run: async ({ workloads }, { path: { name } }) => {
    await workloads.get(name); // an unknown name is an error here
    await workloads.start([name]);
  },
});
