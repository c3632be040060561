import { Type } from 'typebox';
import { WORKLOAD_ERRORS } from '../../../../workloads/workloads.ts';
import { API_BASE, defineManagementOperation } from '../../../operation.ts';
import { checkOf, readRegistry, UpgradeCheckBody } from './upgrade-shapes.ts';

const { engine_unavailable } = WORKLOAD_ERRORS;

export const checkWorkloadUpgrades = defineManagementOperation({
  id: 'checkWorkloadUpgrades',
  method: 'GET',
  path: `${API_BASE}/workloads/upgrade-check`,
  tag: 'workloads',
  summary: 'Compare all workloads with their registry entries',
  description: 'Workloads in every state, sorted by name. Changes nothing.',
  input: {},
  success: { status: 200, body: Type.Object({ results: Type.Array(UpgradeCheckBody) }) },
  errors: { engine_unavailable },
  run: async (context) => {
    const read = await readRegistry(context);
    const results = (await context.workloads.list()).map(({ config }) => checkOf(config, read));
    return { results: results.toSorted((one, other) => (one.workload_name < other.workload_name ? -1 : 1)) };
  },
});
