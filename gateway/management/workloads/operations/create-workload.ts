import { NewWorkload } from '../../../workloads/definition/settings.ts';
import { WORKLOAD_ERRORS, type Placed } from '../../../workloads/workloads.ts';
import { API_BASE, defineManagementOperation, TRANSFER_TIMEOUT_MS } from '../../operation.ts';
import { PlacedFromRegistry, REGISTRY_ERRORS, SETTINGS_ERRORS } from './workload-request.ts';

const { workload_exists } = WORKLOAD_ERRORS;

export const createWorkload = defineManagementOperation({
  id: 'createWorkload',
  method: 'POST',
  path: `${API_BASE}/workloads`,
  tag: 'workloads',
  summary: 'Create and start a workload',
  description:
    'The body has `image`, `url`, or `registry` and `server`. The workload is stored when the answer arrives, and starts in the background. ' +
    'A workload in the state `error` is replaced. An entry of a registry gives defaults, which the answer lists. It gives no more access ' +
    'than a workload has without it: mounts, networks, privileges, and variables that decide which code runs, need the request to repeat ' +
    'them.',
  input: { body: NewWorkload },
  success: { status: 201, body: PlacedFromRegistry, location: ({ name }: Placed) => `${API_BASE}/workloads/${name}` },
  errors: { ...SETTINGS_ERRORS, ...REGISTRY_ERRORS, workload_exists },
  timeoutMs: TRANSFER_TIMEOUT_MS,
  run: ({ workloads }, { body }, { signal }) => workloads.create(body, signal),
});
