import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { Selection, SELECTION_ERRORS, selectedNames } from './selection.ts';

export const deleteWorkloads = defineManagementOperation({
  id: 'deleteWorkloads',
  method: 'POST',
  path: `${API_BASE}/workloads/delete`,
  tag: 'workloads',
  summary: 'Delete several workloads',
  description: 'Deletes them in the background, each on its own. Their secrets stay.',
  input: { body: Selection },
  success: { status: 202 },
  errors: SELECTION_ERRORS,
  run: async (context, { body }) => context.workloads.remove(await selectedNames(context, body)),
});
