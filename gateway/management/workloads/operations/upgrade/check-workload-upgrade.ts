import { Type } from 'typebox';
import { API_BASE, defineManagementOperation } from '../../../operation.ts';
import { checkOf, readRegistry, UpgradeCheckBody } from './upgrade-shapes.ts';
import { PATH_ERRORS, READ_ERRORS, WorkloadPath } from '../workload-request.ts';

export const checkWorkloadUpgrade = defineManagementOperation({
  id: 'checkWorkloadUpgrade',
  method: 'GET',
  path: `${API_BASE}/workloads/{name}/upgrade-check`,
  tag: 'workloads',
  summary: 'Compare a workload with its registry entry',
  description: 'Changes nothing. While the registry cannot be read, the status is `unknown`.',
  input: { path: WorkloadPath },
  success: { status: 200, body: Type.Object({ result: UpgradeCheckBody }) },
  errors: READ_ERRORS,
  pathErrors: PATH_ERRORS,
  run: async (context, { path: { name } }) => {
    const { config } = await context.workloads.get(name);
    return { result: checkOf(config, await readRegistry(context)) };
  },
});
