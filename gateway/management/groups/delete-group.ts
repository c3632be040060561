import { Type } from 'typebox';
import { OperationError } from '../../http/endpoint/request-error.ts';
import { groupName } from '../../workloads/definition/summary.ts';
import { WORKLOAD_ERRORS } from '../../workloads/workloads.ts';
import type { ManagementContext } from '../context.ts';
import { API_BASE, defineManagementOperation } from '../operation.ts';
import { GROUP_NOT_FOUND, GroupPath } from './group.ts';
import { DEFAULT_GROUP, groupOf } from './groups.ts';

const { managed_by_files, changed_meanwhile, engine_unavailable } = WORKLOAD_ERRORS;

export const deleteGroup = defineManagementOperation({
  id: 'deleteGroup',
  method: 'DELETE',
  path: `${API_BASE}/groups/{name}`,
  tag: 'groups',
  summary: 'Delete a group',
  description:
    'Its workloads move to the group `default`, or are deleted in the background. Its clients are no longer registered in it. Its skills ' +
    'stay installed. After an error the group exists; repeat the request.',
  input: {
    path: GroupPath,
    query: Type.Object({
      'with-workloads': Type.Optional(
        Type.Boolean({ default: false, description: 'Delete its workloads instead of moving them.' }),
      ),
    }),
  },
  success: { status: 204 },
  errors: {
    default_group: { status: 400, message: 'the default group cannot be deleted' },
    group_not_found: GROUP_NOT_FOUND,
    ...{ managed_by_files, changed_meanwhile, engine_unavailable },
  },
  run: async (context, { path: { name }, query: { 'with-workloads': areDeleted = false } }, { signal }) => {
    const { groups, clients } = context;
    groupOf(await groups.read(), name);
    if (name === DEFAULT_GROUP) throw new OperationError('default_group');
    await releaseWorkloads(context, name, areDeleted, signal);
    await groups.remove(name, (document, { registered_clients }) =>
      clients.withoutClients(document, registered_clients, [name]),
    );
  },
});

/** Deletes the workloads of a group, or moves them to the default group. */
async function releaseWorkloads(
  { workloads }: Pick<ManagementContext, 'workloads'>,
  group: string,
  areDeleted: boolean,
  signal: AbortSignal,
): Promise<void> {
  const members = (await workloads.list()).filter(({ config }) => groupName(config) === group);
  const names = members.map(({ config }) => config.name ?? '');
  if (areDeleted) {
    await workloads.remove(names);
    return;
  }
  for (const name of names) {
    await workloads.edit(name, { group: DEFAULT_GROUP }, signal).catch((error: unknown) => {
      const isGone = error instanceof OperationError && error.code === 'workload_not_found';
      if (!isGone) throw error;
    });
  }
}
