import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { Selection, SELECTION_ERRORS, selectedNames } from './selection.ts';

export const restartWorkloads = defineManagementOperation({
  id: 'restartWorkloads',
  method: 'POST',
  path: `${API_BASE}/workloads/restart`,
  tag: 'workloads',
  summary: 'Restart several workloads',
  description: 'Restarts them in the background, each on its own. Starts those that are stopped.',
  input: { body: Selection },
  success: { status: 202 },
  errors: SELECTION_ERRORS,
  run: async (context, { body }) => context.workloads.restart(await selectedNames(context, body)),
});
