import { Type } from 'typebox';
import { importRunConfig } from '../../contract/run-config/document.ts';
import { SCHEMA_VERSION } from '../../contract/run-config/run-config.ts';
import { OperationError } from '../../http/endpoint/request-error.ts';
import { detailsOf, WorkloadDetails } from '../../workloads/definition/details.ts';
import { NewWorkload, WorkloadSettings } from '../../workloads/definition/settings.ts';
import { listSummaries, WorkloadSummary } from '../../workloads/definition/summary.ts';
import { inlineKeyProblems } from '../../workloads/definition/webhook-secrets.ts';
import { WORKLOAD_ERRORS, type Placed } from '../../workloads/workloads.ts';
import { GROUP_NAME, requireGroup } from '../groups/groups.ts';
import { API_BASE, operationsOn, TRANSFER_TIMEOUT_MS, type ManagementOperation } from '../operation.ts';
import { changeOne, changeSeveral } from './change.ts';
import { LOG_ERRORS, LogQuery, readLog } from './logs.ts';
import { exportedConfig, ExportedRunConfig, ImportedRunConfig } from './run-config-document.ts';
import {
  PATH_ERRORS,
  PlacedAnswer,
  PlacedFromRegistry,
  READ_ERRORS,
  REGISTRY_ERRORS,
  SETTINGS_ERRORS,
  WorkloadPath,
} from './shapes.ts';
import { checkOf, Confirmed, readRegistry, UPGRADE_ERRORS, UpgradeCheckBody, upgraded } from './upgrade.ts';

const operation = operationsOn('workloads');

/** A boolean that is true only as the exact text `true`; other text does not fail. */
const Exactly = (description: string) =>
  Type.Optional(Type.Unsafe<string>({ type: ['boolean', 'string'], description }));

const { group_not_found, engine_unavailable, workload_exists } = WORKLOAD_ERRORS;

/** Operations on workloads, in the order of the documentation. To add an operation, add an entry. */
export const WORKLOAD_OPERATIONS: readonly ManagementOperation[] = [
  operation({
    id: 'listWorkloads',
    method: 'GET',
    path: `${API_BASE}/workloads`,
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
      if (group !== undefined) requireGroup(await groups.read(), group);
      const filter = { all: all === 'true', ...(group !== undefined && { group }) };
      return { workloads: listSummaries(await workloads.list(), filter) };
    },
  }),
  operation({
    id: 'createWorkload',
    method: 'POST',
    path: `${API_BASE}/workloads`,
    summary: 'Create and start a workload',
    description:
      'The body has `image`, `url`, or `registry` and `server`. The workload is stored when the answer arrives, and starts in the background. ' +
      'A workload in the state `error` is replaced. An entry of a registry gives defaults, which the answer lists. It gives no more access ' +
      'than a workload has without it: mounts, networks, privileges, and variables that decide which code runs, need the request to repeat ' +
      'them.',
    input: { body: NewWorkload },
    success: { status: 201, body: PlacedFromRegistry, location: ({ name }: Placed) => `${API_BASE}/workloads/${name}` },
    errors: { ...SETTINGS_ERRORS, ...REGISTRY_ERRORS, workload_exists },
    timeoutMs: TRANSFER_TIMEOUT_MS,
    run: ({ workloads }, { body }, { signal }) => workloads.create(body, signal),
  }),
  changeSeveral({
    id: 'deleteWorkloads',
    verb: 'delete',
    summary: 'Delete several workloads',
    description: 'Deletes them in the background, each on its own. Their secrets stay.',
    call: 'remove',
  }),
  changeSeveral({
    id: 'stopWorkloads',
    verb: 'stop',
    summary: 'Stop several workloads',
    description: 'Stops them in the background, each on its own. They stay stopped until they are started.',
    call: 'stop',
  }),
  changeSeveral({
    id: 'startWorkloads',
    verb: 'start',
    summary: 'Start several workloads',
    description: 'Starts them in the background, each on its own.',
    call: 'start',
  }),
  changeSeveral({
    id: 'restartWorkloads',
    verb: 'restart',
    summary: 'Restart several workloads',
    description: 'Restarts them in the background, each on its own. Starts those that are stopped.',
    call: 'restart',
  }),
  operation({
    id: 'importWorkload',
    method: 'POST',
    path: `${API_BASE}/workloads/import`,
    summary: 'Create a workload from an exported run configuration',
    description: 'Secrets must exist already: an export has their names only.',
    input: { body: ImportedRunConfig },
    success: { status: 201, body: PlacedAnswer, location: ({ name }: Placed) => `${API_BASE}/workloads/${name}` },
    errors: { ...SETTINGS_ERRORS, workload_exists },
    timeoutMs: TRANSFER_TIMEOUT_MS,
    run: ({ workloads }, { body }, { signal }) => {
      const keys = inlineKeyProblems(body);
      const read = keys.length > 0 ? { problems: keys } : importRunConfig({ schema_version: SCHEMA_VERSION, ...body });
      if ('config' in read) return workloads.import(read.config, signal);
      const problems = read.problems.map(({ path, message }) => `${path} ${message}`.trim());
      throw new OperationError('invalid_workload', problems.join('; '));
    },
  }),
  operation({
    id: 'checkWorkloadUpgrades',
    method: 'GET',
    path: `${API_BASE}/workloads/upgrade-check`,
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
  }),
  operation({
    id: 'getWorkload',
    method: 'GET',
    path: `${API_BASE}/workloads/{name}`,
    summary: 'Get the settings of a workload',
    description: 'Settings as they were requested. An edit with the same body changes nothing.',
    input: { path: WorkloadPath },
    success: { status: 200, body: WorkloadDetails },
    errors: READ_ERRORS,
    pathErrors: PATH_ERRORS,
    run: async ({ workloads }, { path: { name } }) => detailsOf((await workloads.get(name)).config),
  }),
  changeOne({
    id: 'deleteWorkload',
    method: 'DELETE',
    summary: 'Delete a workload',
    description: 'Deletes it in the background. Its secrets stay.',
    call: 'remove',
  }),
  operation({
    id: 'editWorkload',
    method: 'POST',
    path: `${API_BASE}/workloads/{name}/edit`,
    summary: 'Change the settings of a workload',
    description:
      'An absent member keeps its stored value, an empty one removes it. The workload runs on while the new settings are validated and ' +
      'the image is pulled. It is replaced after the answer; if the new settings cannot run, the old ones are restored.',
    input: { path: WorkloadPath, body: WorkloadSettings },
    success: { status: 200, body: PlacedAnswer },
    errors: { ...READ_ERRORS, ...SETTINGS_ERRORS },
    pathErrors: PATH_ERRORS,
    timeoutMs: TRANSFER_TIMEOUT_MS,
    run: ({ workloads }, { path: { name }, body }, { signal }) => workloads.edit(name, body, signal),
  }),
  operation({
    id: 'exportWorkload',
    method: 'GET',
    path: `${API_BASE}/workloads/{name}/export`,
    summary: 'Export the run configuration of a workload',
    description:
      'Members without a value are left out, except the required ones and an `isolate_network` of false. No member has a secret value.',
    input: { path: WorkloadPath },
    success: { status: 200, body: ExportedRunConfig },
    errors: READ_ERRORS,
    pathErrors: PATH_ERRORS,
    run: async ({ workloads }, { path: { name } }) => exportedConfig((await workloads.get(name)).config),
  }),
  operation({
    id: 'checkWorkloadUpgrade',
    method: 'GET',
    path: `${API_BASE}/workloads/{name}/upgrade-check`,
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
  }),
  operation({
    id: 'upgradeWorkload',
    method: 'POST',
    path: `${API_BASE}/workloads/{name}/upgrade`,
    summary: 'Upgrade a workload to its registry entry',
    description:
      'Edits the image, or the URL of a remote server, and adds the defaults of new variables. All other settings stay. ' +
      'An entry that gives more access than the workload has needs the request to repeat it. ' +
      'As with an edit, the workload is replaced after the answer. After an answer of 422 it is as it was.',
    input: {
      path: WorkloadPath,
      body: Type.Object({ ...Confirmed.properties, secrets: WorkloadSettings.properties.secrets }),
    },
    success: { status: 200, body: PlacedFromRegistry },
    errors: UPGRADE_ERRORS,
    pathErrors: PATH_ERRORS,
    timeoutMs: TRANSFER_TIMEOUT_MS,
    run: async (context, { path: { name }, body }, { signal }) => {
      await context.workloads.get(name); // an unknown name is an error even if the registry cannot be read
      const read = await readRegistry(context);
      return context.workloads.edit(name, (config) => upgraded(config, read, body), signal);
    },
  }),
  operation({
    id: 'getWorkloadStatus',
    method: 'GET',
    path: `${API_BASE}/workloads/{name}/status`,
    summary: 'Get the state of a workload',
    input: { path: WorkloadPath },
    success: {
      status: 200,
      body: Type.Pick(WorkloadSummary, ['status', 'status_context'], { title: 'WorkloadStatus' }),
    },
    errors: READ_ERRORS,
    pathErrors: PATH_ERRORS,
    run: async ({ workloads }, { path: { name } }) => {
      const { status, status_context: context } = await workloads.get(name);
      return { status, ...(context && { status_context: context }) };
    },
  }),
  operation({
    id: 'getWorkloadLogs',
    method: 'GET',
    path: `${API_BASE}/workloads/{name}/logs`,
    summary: 'Get the output of a workload',
    description:
      'With `follow=true`, a stream of lines: server-sent events for a client that accepts `text/event-stream`, else text.',
    input: { path: WorkloadPath, query: LogQuery },
    success: { status: 200, hasLines: true },
    errors: LOG_ERRORS,
    pathErrors: PATH_ERRORS,
    run: (context, { path: { name }, query }, { signal }) =>
      readLog(context, name, { ...query, source: 'server' }, signal),
  }),
  operation({
    id: 'getWorkloadProxyLogs',
    method: 'GET',
    path: `${API_BASE}/workloads/{name}/proxy-logs`,
    summary: 'Get the log lines of vmcp about a workload',
    description: 'As the output of the workload.',
    input: { path: WorkloadPath, query: LogQuery },
    success: { status: 200, hasLines: true },
    errors: LOG_ERRORS,
    pathErrors: PATH_ERRORS,
    run: (context, { path: { name }, query }, { signal }) =>
      readLog(context, name, { ...query, source: 'proxy' }, signal),
  }),
  changeOne({
    id: 'stopWorkload',
    verb: 'stop',
    summary: 'Stop a workload',
    description: 'Stops it in the background. It stays stopped until it is started.',
    call: 'stop',
  }),
  changeOne({
    id: 'startWorkload',
    verb: 'start',
    summary: 'Start a workload',
    description: 'Starts it in the background. The state has the progress, and the reason for a failure.',
    call: 'start',
  }),
  changeOne({
    id: 'restartWorkload',
    verb: 'restart',
    summary: 'Restart a workload',
    description: 'Restarts it in the background, or starts it if it is stopped.',
    call: 'restart',
  }),
];
