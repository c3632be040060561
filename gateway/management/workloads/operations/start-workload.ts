import { changeOne } from './change-workload.ts';

export const startWorkload = changeOne({
  id: 'startWorkload',
  verb: 'start',
  summary: 'Start a workload',
  description: 'Starts it in the background. The state has the progress, and the reason for a failure.',
  call: 'start',
});
