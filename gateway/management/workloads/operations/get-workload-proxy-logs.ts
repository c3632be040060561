import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { LOG_ERRORS, LogQuery, readLog } from './log-request.ts';
import { PATH_ERRORS, WorkloadPath } from './workload-request.ts';

export const getWorkloadProxyLogs = defineManagementOperation({
  id: 'getWorkloadProxyLogs',
  method: 'GET',
  path: `${API_BASE}/workloads/{name}/proxy-logs`,
  tag: 'workloads',
  summary: 'Get the log lines of vmcp about a workload',
  description: 'As the output of the workload.',
  input: { path: WorkloadPath, query: LogQuery },
  success: { status: 200, hasLines: true },
  errors: LOG_ERRORS,
  pathErrors: PATH_ERRORS,
  run: (context, { path: { name }, query }, { signal }) =>
    readLog(context, name, { ...query, source: 'proxy' }, signal),
});
