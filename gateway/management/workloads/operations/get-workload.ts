import { detailsOf, WorkloadDetails } from '../../../workloads/definition/details.ts';
import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { PATH_ERRORS, READ_ERRORS, WorkloadPath } from './workload-request.ts';

export const getWorkload = defineManagementOperation({
  id: 'getWorkload',
  method: 'GET',
  path: `${API_BASE}/workloads/{name}`,
  tag: 'workloads',
  summary: 'Get the settings of a workload',
  description: 'Settings as they were requested. An edit with the same body changes nothing.',
  input: { path: WorkloadPath },
  success: { status: 200, body: WorkloadDetails },
  errors: READ_ERRORS,
  pathErrors: PATH_ERRORS,
  run: async ({ workloads }, { path: { name } }) => detailsOf((await workloads.get(name)).config),
});
