import { Type } from 'typebox';
import { WORKLOAD_ERRORS } from '../../../workloads/workloads.ts';
import { listSummaries, WorkloadSummary } from '../../../workloads/definition/summary.ts';
import { groupOf, GROUP_NAME } from '../../groups/groups.ts';
import { API_BASE, defineManagementOperation } from '../../operation.ts';

/** A boolean that is true only as the exact text `true`; other text does not fail. */
const Exactly = (description: string) =>
  Type.Optional(Type.Unsafe<string>({ type: ['boolean', 'string'], description }));

const { group_not_found, engine_unavailable } = WORKLOAD_ERRORS;

export const listWorkloads = defineManagementOperation({
  id: 'listWorkloads',
  method: 'GET',
  path: `${API_BASE}/workloads`,
  tag: 'workloads',
  summary: 'List workloads',
  description: 'Without `all`, only those in the states `running` and `auth_retrying`. Sorted by name.',
  input: {
    query: Type.Object({
      all: Exactly('`true` includes workloads in every state.'),
      group: Type.Optional(Type.String({ pattern: GROUP_NAME, description: 'Group of the workloads.' })),
    }),
  },
  success: { status: 200, body: Type.Object({ workloads: Type.Array(WorkloadSummary) }) },
  errors: { group_not_found, engine_unavailable },
  run: async ({ workloads, groups }, { query: { all, group } }) => {
    if (group !== undefined) groupOf(await groups.read(), group);
    const filter = { all: all === 'true', ...(group !== undefined && { group }) };
    return { workloads: listSummaries(await workloads.list(), filter) };
  },
});
