import { changeSeveral } from './change-workload.ts';

export const stopWorkloads = changeSeveral({
  id: 'stopWorkloads',
  verb: 'stop',
  summary: 'Stop several workloads',
  description: 'Stops them in the background, each on its own. They stay stopped until they are started.',
  call: 'stop',
});
