import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { Selection, SELECTION_ERRORS, selectedNames } from './selection.ts';

export const startWorkloads = defineManagementOperation({
  id: 'startWorkloads',
  method: 'POST',
  path: `${API_BASE}/workloads/start`,
  tag: 'workloads',
  summary: 'Start several workloads',
  description: 'Starts them in the background, each on its own.',
  input: { body: Selection },
  success: { status: 202 },
  errors: SELECTION_ERRORS,
  run: async (context, { body }) => context.workloads.start(await selectedNames(context, body)),
});
