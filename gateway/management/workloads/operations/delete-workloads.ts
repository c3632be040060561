import { changeSeveral } from './change-workload.ts';

export const deleteWorkloads = changeSeveral({
  id: 'deleteWorkloads',
  verb: 'delete',
  summary: 'Delete several workloads',
  description: 'Deletes them in the background, each on its own. Their secrets stay.',
  call: 'remove',
});
