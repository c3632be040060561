import { API_BASE, defineManagementOperation, type ManagementOperation } from '../../operation.ts';
import { Selection, SELECTION_ERRORS, selectedNames } from './selection.ts';
import { CHANGE_ERRORS, PATH_ERRORS, READ_ERRORS, WorkloadPath } from './workload-request.ts';

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
  defineManagementOperation({
    ...texts,
    method,
    path: `${API_BASE}/workloads/{name}${verb === undefined ? '' : `/${verb}`}`,
    tag: 'workloads',
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
  defineManagementOperation({
    ...texts,
    method: 'POST',
    path: `${API_BASE}/workloads/${verb}`,
    tag: 'workloads',
    input: { body: Selection },
    success: { status: 202 },
    errors: SELECTION_ERRORS,
    run: async (context, { body }) => context.workloads[call](await selectedNames(context, body)),
  });
