import { WorkloadSettings } from '../../../workloads/definition/settings.ts';
import { API_BASE, defineManagementOperation, TRANSFER_TIMEOUT_MS } from '../../operation.ts';
import { PATH_ERRORS, PlacedAnswer, READ_ERRORS, SETTINGS_ERRORS, WorkloadPath } from './workload-request.ts';

export const editWorkload = defineManagementOperation({
  id: 'editWorkload',
  method: 'POST',
  path: `${API_BASE}/workloads/{name}/edit`,
  tag: 'workloads',
  summary: 'Change the settings of a workload',
  description:
    'An absent member keeps its stored value, an empty one removes it. The workload runs on while the new settings are validated and ' +
    'the image is pulled. It is replaced after the answer; if the new settings cannot run, the old ones are restored.',
  input: { path: WorkloadPath, body: WorkloadSettings },
  success: { status: 200, body: PlacedAnswer },
  errors: { ...READ_ERRORS, ...SETTINGS_ERRORS },
  pathErrors: PATH_ERRORS,
  timeoutMs: TRANSFER_TIMEOUT_MS,
  run: ({ workloads }, { path: { name }, body }, { signal }) => workloads.edit(name, body, signal),
});
