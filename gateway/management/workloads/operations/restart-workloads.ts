import { changeSeveral } from './change-workload.ts';

export const restartWorkloads = changeSeveral({
  id: 'restartWorkloads',
  verb: 'restart',
  summary: 'Restart several workloads',
  description: 'Restarts them in the background, each on its own. Starts those that are stopped.',
  call: 'restart',
});
