import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { LOG_ERRORS, LogQuery, readLog } from './log-request.ts';
import { PATH_ERRORS, WorkloadPath } from './workload-request.ts';

export const getWorkloadLogs = defineManagementOperation({
  id: 'getWorkloadLogs',
  method: 'GET',
  path: `${API_BASE}/workloads/{name}/logs`,
  tag: 'workloads',
  summary: 'Get the output of a workload',
  description:
    'With `follow=true`, a stream of lines: server-sent events for a client that accepts `text/event-stream`, else text.',
  input: { path: WorkloadPath, query: LogQuery },
  success: { status: 200, hasLines: true },
  errors: LOG_ERRORS,
  pathErrors: PATH_ERRORS,
  run: (context, { path: { name }, query }, { signal }) =>
    readLog(context, name, { ...query, source: 'server' }, signal),
});
