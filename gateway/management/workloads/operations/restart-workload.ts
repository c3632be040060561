import { changeOne } from './change-workload.ts';

export const restartWorkload = changeOne({
  id: 'restartWorkload',
  verb: 'restart',
  summary: 'Restart a workload',
  description: 'Restarts it in the background, or starts it if it is stopped.',
  call: 'restart',
});
