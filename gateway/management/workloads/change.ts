import { Type, type Static } from 'typebox';
import { OperationError } from '../../http/endpoint/request-error.ts';
import { WORKLOAD_NAME } from '../../workloads/definition/settings.ts';
import { groupName } from '../../workloads/definition/summary.ts';
import { WORKLOAD_ERRORS } from '../../workloads/workloads.ts';
import { GROUP_NAME, requireGroup } from '../groups/groups.ts';
import { API_BASE, operationsOn, type ManagementContext, type ManagementOperation } from '../operation.ts';
import { CHANGE_ERRORS, GROUP_IN_BODY, PATH_ERRORS, READ_ERRORS, WorkloadPath } from './shapes.ts';

const operation = operationsOn('workloads');

/** Members that differ between the operations that change the state of workloads. */
interface Change extends Required<Pick<ManagementOperation, 'id' | 'summary' | 'description'>> {
  /** Last segment of the path; absent for the path of the workload itself. */
  readonly verb?: string;
  readonly method?: ManagementOperation['method'];
  /** Method of the store, which accepts names that do not exist. */
  readonly call: 'stop' | 'start' | 'restart' | 'remove';
}

/** Defines an operation that changes the state of one workload in the background. */
export const changeOne = ({ verb, method = 'POST', call, ...texts }: Change): ManagementOperation =>
  operation({
    ...texts,
    method,
    path: `${API_BASE}/workloads/{name}${verb === undefined ? '' : `/${verb}`}`,
    input: { path: WorkloadPath },
    success: { status: 202 },
    errors: { ...READ_ERRORS, ...CHANGE_ERRORS },
    pathErrors: PATH_ERRORS,
    run: async ({ workloads }, { path: { name } }) => {
      await workloads.get(name); // an unknown name is an error here
      await workloads[call]([name]);
    },
  });

/** Defines an operation that changes the state of selected workloads in the background. */
export const changeSeveral = ({ verb = '', call, ...texts }: Omit<Change, 'method'>): ManagementOperation =>
  operation({
    ...texts,
    method: 'POST',
    path: `${API_BASE}/workloads/${verb}`,
    input: { body: Selection },
    success: { status: 202 },
    errors: SELECTION_ERRORS,
    run: async (context, { body }) => context.workloads[call](await selectedNames(context, body)),
  });

/** Workloads of a bulk operation. */
const Selection = Type.Object(
  {
    names: Type.Optional(Type.Array(Type.String(), { description: 'Names of workloads. Unknown ones are ignored.' })),
    group: Type.Optional(Type.String({ description: 'Group of the workloads.' })),
  },
  { title: 'WorkloadSelection', description: 'Exactly one of `names` and `group`.' },
);
type Selection = Static<typeof Selection>;

const { invalid_name } = WORKLOAD_ERRORS;

/** Errors of bulk operations. */
const SELECTION_ERRORS = {
  invalid_selection: { status: 400, message: 'select workloads by "names" or by "group", and not by both' },
  invalid_name,
  invalid_group: { status: 400, message: 'a group name has lower-case letters, digits, "_", "-" and single spaces' },
  ...GROUP_IN_BODY,
  ...CHANGE_ERRORS,
};

const NAME = new RegExp(WORKLOAD_NAME, 'u');
const GROUP = new RegExp(GROUP_NAME, 'u');

/**
 * Returns the names of the selected workloads. Workloads of files in a group count only if it has no other workloads, so that the operation
 * is refused. Throws `invalid_selection`, `invalid_name`, `invalid_group` and `group_not_found`.
 */
async function selectedNames(
  { workloads, groups }: Pick<ManagementContext, 'workloads' | 'groups'>,
  { names = [], group = '' }: Selection,
): Promise<string[]> {
  if (names.length > 0 === (group !== '')) throw new OperationError('invalid_selection');
  if (!names.every((name) => NAME.test(name))) throw new OperationError('invalid_name');
  if (group === '') return [...new Set(names)];
  if (!GROUP.test(group)) throw new OperationError('invalid_group');
  requireGroup(await groups.read(), group);
  const members = (await workloads.list()).filter(({ config }) => groupName(config) === group);
  const managed = members.filter(({ isFromFile = false }) => !isFromFile);
  return (managed.length > 0 ? managed : members).map(({ config }) => config.name ?? '');
}
