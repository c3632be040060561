import { Type } from 'typebox';
import type { DeclaredError } from '../../http/endpoint/operation.ts';
import { OperationError } from '../../http/endpoint/request-error.ts';
import { groupName } from '../../workloads/definition/summary.ts';
import { WORKLOAD_ERRORS } from '../../workloads/workloads.ts';
import type { ManagementContext } from '../context.ts';
import { API_BASE, defineManagementOperation } from '../operation.ts';
import { GROUP_NOT_FOUND, GroupPath } from './group.ts';
import { DEFAULT_GROUP, groupOf } from './groups.ts';

const { managed_by_files, changed_meanwhile, engine_unavailable, refused_by_policy } = WORKLOAD_ERRORS;
const { invalid_workload, image_not_found, image_unavailable } = WORKLOAD_ERRORS;

/** Errors of a workload that no longer runs with its own settings. */
const STUCK: Readonly<Record<string, DeclaredError>> = {
  invalid_workload,
  image_not_found: { ...image_not_found, status: invalid_workload.status }, // the group exists
  image_unavailable,
};

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
    ...{ managed_by_files, changed_meanwhile, engine_unavailable, refused_by_policy },
    ...STUCK,
    client_file_unusable: { status: 500, message: 'the configuration file of a client cannot be read or written' },
  },
  run: async (context, { path: { name }, query: { 'with-workloads': areDeleted = false } }, { signal }) => {
    const { groups, clients } = context;
    groupOf(await groups.read(), name);
    if (name === DEFAULT_GROUP) throw new OperationError('default_group');
    groups.refuseFileGroup(name);
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
      if (!isGone) throw moveError(name, error);
    });
  }
}

/** Adds the name of the workload, and what to do, to an error that is about its settings. */
function moveError(name: string, error: unknown): unknown {
  if (!(error instanceof OperationError)) return error;
  const stuck = STUCK[error.code];
  if (!stuck) return error;
  const reason = error.detail ?? stuck.message;
  const message = `the workload "${name}" cannot move to the group default (${reason}): edit or delete it, then try again`;
  return new OperationError(error.code, message);
}
