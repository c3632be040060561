import { Type } from 'typebox';
import { WorkloadSummary } from '../../../workloads/definition/summary.ts';
import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { PATH_ERRORS, READ_ERRORS, WorkloadPath } from './workload-request.ts';

export const getWorkloadStatus = defineManagementOperation({
  id: 'getWorkloadStatus',
  method: 'GET',
  path: `${API_BASE}/workloads/{name}/status`,
  tag: 'workloads',
  summary: 'Get the state of a workload',
  input: { path: WorkloadPath },
  success: {
    status: 200,
    body: Type.Pick(WorkloadSummary, ['status', 'status_context'], { title: 'WorkloadStatus' }),
  },
  errors: READ_ERRORS,
  pathErrors: PATH_ERRORS,
  run: async ({ workloads }, { path: { name } }) => {
    const { status, status_context: context } = await workloads.get(name);
    return { status, ...(context && { status_context: context }) };
  },
});
