import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { ExportedRunConfig, exportedConfig } from '../run-config-document.ts';
import { PATH_ERRORS, READ_ERRORS, WorkloadPath } from './workload-request.ts';

export const exportWorkload = defineManagementOperation({
  id: 'exportWorkload',
  method: 'GET',
  path: `${API_BASE}/workloads/{name}/export`,
  tag: 'workloads',
  summary: 'Export the run configuration of a workload',
  description:
    'Members without a value are left out, except the required ones and an `isolate_network` of false. No member has a secret value.',
  input: { path: WorkloadPath },
  success: { status: 200, body: ExportedRunConfig },
  errors: READ_ERRORS,
  pathErrors: PATH_ERRORS,
  run: async ({ workloads }, { path: { name } }) => exportedConfig((await workloads.get(name)).config),
});
