import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { CHANGE_ERRORS, PATH_ERRORS, READ_ERRORS, WorkloadPath } from './workload-request.ts';

export const stopWorkload = defineManagementOperation({
  id: 'stopWorkload',
  method: 'POST',
  path: `${API_BASE}/workloads/{name}/stop`,
  tag: 'workloads',
  summary: 'Stop a workload',
  description: 'Stops it in the background. It stays stopped until it is started.',
  input: { path: WorkloadPath },
  success: { status: 202 },
  errors: { ...READ_ERRORS, ...CHANGE_ERRORS },
  pathErrors: PATH_ERRORS,
  run: async ({ workloads }, { path: { name } }) => {
    await workloads.get(name); // an unknown name is an error here
    await workloads.stop([name]);
  },
});
