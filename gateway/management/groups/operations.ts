import { Type, type Static } from 'typebox';
import type { DeclaredError } from '../../http/endpoint/operation.ts';
import { OperationError } from '../../http/endpoint/request-error.ts';
import { groupName } from '../../workloads/definition/summary.ts';
import { WORKLOAD_ERRORS } from '../../workloads/workloads.ts';
import { CLUSTER_UNAVAILABLE } from '../cluster-access.ts';
import { API_BASE, operationsOn, type ManagementContext, type ManagementOperation } from '../operation.ts';
import { DEFAULT_GROUP, GROUP_NAME, requireGroup, MAX_GROUP_NAME, type GroupRecord } from './groups.ts';

const operation = operationsOn('groups');

const NAME_RULE = 'lower-case letters, digits, "_" and "-", with single spaces between words.';

const GroupPath = Type.Object({
  name: Type.String({ pattern: GROUP_NAME, description: `Name of the group: ${NAME_RULE}` }),
});

/** Name of a new group. */
const GroupName = Type.String({
  pattern: GROUP_NAME,
  maxLength: MAX_GROUP_NAME,
  description: `Name of the group: ${NAME_RULE}`,
});

const Group = Type.Object(
  {
    name: Type.String(),
    registered_clients: Type.Array(Type.String(), { description: 'Client types that are registered in the group.' }),
    skills: Type.Optional(Type.Array(Type.String(), { description: 'Names of the installed skills of the group.' })),
  },
  { title: 'Group' },
);

const GROUP_NOT_FOUND = { status: 404, message: 'there is no such group: GET /api/v1beta/groups lists them' };

const groupAnswer = (name: string, { registered_clients, skills }: GroupRecord): Static<typeof Group> => ({
  name,
  registered_clients,
  ...(skills.length > 0 && { skills }),
});

const { managed_by_files, changed_meanwhile, engine_unavailable, refused_by_policy } = WORKLOAD_ERRORS;
const { invalid_workload, image_not_found, image_unavailable } = WORKLOAD_ERRORS;

/** Errors of a workload that no longer runs with its own settings. */
const STUCK: Readonly<Record<string, DeclaredError>> = {
  invalid_workload,
  image_not_found: { ...image_not_found, status: invalid_workload.status }, // the group exists
  image_unavailable,
};

/** Operations on groups, in the order of the documentation. To add an operation, add an entry. */
export const GROUP_OPERATIONS: readonly ManagementOperation[] = [
  operation({
    id: 'listGroups',
    method: 'GET',
    path: `${API_BASE}/groups`,
    summary: 'List the groups',
    input: {},
    success: { status: 200, body: Type.Object({ groups: Type.Array(Group) }) },
    errors: { ...CLUSTER_UNAVAILABLE },
    run: async ({ groups }) => {
      const document = await groups.read();
      const byName = Object.entries(document.groups).toSorted(([a], [b]) => (a < b ? -1 : 1));
      return { groups: byName.map(([name, group]) => groupAnswer(name, group)) };
    },
  }),
  operation({
    id: 'createGroup',
    method: 'POST',
    path: `${API_BASE}/groups`,
    summary: 'Create a group',
    input: { body: Type.Object({ name: GroupName }) },
    success: { status: 201, body: Type.Object({ name: Type.String() }) },
    errors: {
      group_exists: { status: 409, message: 'there is already a group of this name: choose another one' },
      ...CLUSTER_UNAVAILABLE,
      invalid_group: {
        status: 400,
        message: 'in a cluster a group name has lower-case letters, digits and "-": choose another one',
      },
    },
    run: async ({ groups }, { body: { name } }) => {
      await groups.create(name);
      return { name };
    },
  }),
  operation({
    id: 'getGroup',
    method: 'GET',
    path: `${API_BASE}/groups/{name}`,
    summary: 'Get a group',
    input: { path: GroupPath },
    success: { status: 200, body: Group },
    errors: { group_not_found: GROUP_NOT_FOUND, ...CLUSTER_UNAVAILABLE },
    run: async ({ groups }, { path: { name } }) => groupAnswer(name, requireGroup(await groups.read(), name)),
  }),
  operation({
    id: 'deleteGroup',
    method: 'DELETE',
    path: `${API_BASE}/groups/{name}`,
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
      requireGroup(await groups.read(), name);
      if (name === DEFAULT_GROUP) throw new OperationError('default_group');
      groups.refuseFileGroup(name);
      await releaseWorkloads(context, name, areDeleted, signal);
      await groups.remove(name, (document, { registered_clients }) =>
        clients.withoutClients(document, registered_clients, [name]),
      );
    },
  }),
];

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
