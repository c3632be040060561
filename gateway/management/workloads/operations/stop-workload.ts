import { changeOne } from './change-workload.ts';

export const stopWorkload = changeOne({
  id: 'stopWorkload',
  verb: 'stop',
  summary: 'Stop a workload',
  description: 'Stops it in the background. It stays stopped until it is started.',
  call: 'stop',
});
