import { configFiles } from '../../../contract/gateway-config-files.ts';
import type { Problem } from '../../../contract/problem.ts';
import { importRunConfig } from '../../../contract/run-config/document.ts';
import { inPolicyFile } from '../../../contract/run-config/policy-file.ts';
import type { RunConfig } from '../../../contract/run-config/run-config.ts';
import { withPolicyFile } from '../../../files/policy-file.ts';
import { unreadableFiles } from '../../../files/unreadable-files.ts';
import { secretOfPath } from '../../../contract/run-config/secret-path.ts';
import { withoutMiddlewares } from '../../definition/middlewares.ts';
import { runConfigProblems } from '../../definition/problems.ts';
import { servingConfigOf } from '../../definition/serving-config.ts';
import { withNamedFiles } from './named-files.ts';

/** Members whose files must be readable before the workload starts. */
const CONTROL_FILES = /^(?:telemetry_config|mutating_webhooks|validating_webhooks)[.[]/u;

type Effective = { readonly config: RunConfig } | { readonly problems: readonly Problem[] };

/**
 * Returns the settings that a workload runs with: typed members in place of middlewares, and the content of environment files, of a
 * permission profile and of the policy file in place of their paths. Otherwise the problems for which it does not start. Reads the files that it names.
 */
export async function effectiveConfig(stored: RunConfig): Promise<Effective> {
  const { config, problems } = withoutMiddlewares(stored);
  const all = [...problems, ...runConfigProblems(config)];
  if (all.length > 0) return { problems: all };
  const filled = await withNamedFiles(config);
  if ('problems' in filled) return filled;
  const policed = await withPolicy(filled.config);
  if ('problems' in policed) return policed;
  const files = configFiles(servingConfigOf(policed.config, {})).filter(
    ({ path, file }) => CONTROL_FILES.test(path) && secretOfPath(file) === undefined,
  );
  const unreadable = await unreadableFiles(files);
  return unreadable.length > 0 ? { problems: unreadable } : policed;
}

async function withPolicy(config: RunConfig): Promise<Effective> {
  const { authz_config_path: file } = config;
  if (file === undefined) return { config };
  const whole = await withPolicyFile(config, file);
  if ('problems' in whole) return whole;
  const read = importRunConfig(whole.json);
  const problems = 'problems' in read ? read.problems : runConfigProblems(read.config);
  if ('problems' in read || problems.length > 0)
    return { problems: problems.map((problem) => inPolicyFile(problem, file)) };
  return read;
}
