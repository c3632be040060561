import { Type, type Static } from 'typebox';
import { OperationError } from '../../../http/endpoint/request-error.ts';
import { WORKLOAD_NAME } from '../../../workloads/definition/settings.ts';
import { groupName } from '../../../workloads/definition/summary.ts';
import { WORKLOAD_ERRORS } from '../../../workloads/workloads.ts';
import type { ManagementContext } from '../../operation.ts';
import { GROUP_NAME, groupOf } from '../../groups/groups.ts';
import { CHANGE_ERRORS, GROUP_IN_BODY } from './workload-request.ts';

/** Workloads of a bulk operation. */
export const Selection = Type.Object(
  {
    names: Type.Optional(Type.Array(Type.String(), { description: 'Names of workloads. Unknown ones are ignored.' })),
    group: Type.Optional(Type.String({ description: 'Group of the workloads.' })),
  },
  { title: 'WorkloadSelection', description: 'Exactly one of `names` and `group`.' },
);
type Selection = Static<typeof Selection>;

const { invalid_name } = WORKLOAD_ERRORS;

/** Errors of bulk operations. */
export const SELECTION_ERRORS = {
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
export async function selectedNames(
  { workloads, groups }: Pick<ManagementContext, 'workloads' | 'groups'>,
  { names = [], group = '' }: Selection,
): Promise<string[]> {
  if (names.length > 0 === (group !== '')) throw new OperationError('invalid_selection');
  if (!names.every((name) => NAME.test(name))) throw new OperationError('invalid_name');
  if (group === '') return [...new Set(names)];
  if (!GROUP.test(group)) throw new OperationError('invalid_group');
  groupOf(await groups.read(), group);
  const members = (await workloads.list()).filter(({ config }) => groupName(config) === group);
  const managed = members.filter(({ isFromFile = false }) => !isFromFile);
  return (managed.length > 0 ? managed : members).map(({ config }) => config.name ?? '');
}
