import { changeSeveral } from './change-workload.ts';

export const startWorkloads = changeSeveral({
  id: 'startWorkloads',
  verb: 'start',
  summary: 'Start several workloads',
  description: 'Starts them in the background, each on its own.',
  call: 'start',
});
