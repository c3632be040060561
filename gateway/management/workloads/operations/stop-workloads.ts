import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { Selection, SELECTION_ERRORS, selectedNames } from './selection.ts';

export const stopWorkloads = defineManagementOperation({
  id: 'stopWorkloads',
  method: 'POST',
  path: `${API_BASE}/workloads/stop`,
  tag: 'workloads',
  summary: 'Stop several workloads',
  description: 'Stops them in the background, each on its own. They stay stopped until they are started.',
  input: { body: Selection },
  success: { status: 202 },
  errors: SELECTION_ERRORS,
  run: async (context, { body }) => context.workloads.stop(await selectedNames(context, body)),
});
