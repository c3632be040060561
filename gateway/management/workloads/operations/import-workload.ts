import { importRunConfig } from '../../../contract/run-config/document.ts';
import { SCHEMA_VERSION } from '../../../contract/run-config/run-config.ts';
import { OperationError } from '../../../http/endpoint/request-error.ts';
import { inlineKeyProblems } from '../../../workloads/definition/webhook-secrets.ts';
import { WORKLOAD_ERRORS, type Placed } from '../../../workloads/workloads.ts';
import { API_BASE, defineManagementOperation, TRANSFER_TIMEOUT_MS } from '../../operation.ts';
import { ImportedRunConfig } from '../run-config-document.ts';
import { PlacedAnswer, SETTINGS_ERRORS } from './workload-request.ts';

const { workload_exists } = WORKLOAD_ERRORS;

export const importWorkload = defineManagementOperation({
  id: 'importWorkload',
  method: 'POST',
  path: `${API_BASE}/workloads/import`,
  tag: 'workloads',
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
});
