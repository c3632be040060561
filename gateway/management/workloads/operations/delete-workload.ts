import { changeOne } from './change-workload.ts';

export const deleteWorkload = changeOne({
  id: 'deleteWorkload',
  method: 'DELETE',
  summary: 'Delete a workload',
  description: 'Deletes it in the background. Its secrets stay.',
  call: 'remove',
});
