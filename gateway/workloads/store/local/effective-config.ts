import { configFiles } from '../../../contract/gateway-config-files.ts';
import type { Problem } from '../../../contract/problem.ts';
import { importRunConfig, readDocument } from '../../../contract/run-config/document.ts';
import { inPolicyFile } from '../../../contract/run-config/policy-file.ts';
import type { RunConfig } from '../../../contract/run-config/run-config.ts';
import { withPolicyFile, unreadableFiles, errorCode } from '../../../config-files.ts';
import { secretOfPath } from '../../../contract/run-config/secret-path.ts';
import { withoutMiddlewares } from '../../definition/middlewares.ts';
import { runConfigProblems } from '../../definition/problems.ts';
import { servingConfigOf } from '../../definition/serving-config.ts';
import { readdir, readFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { parse } from 'yaml';
import { ClosedPermissionProfile } from '../../../contract/container.ts';
import { decodeUtf8 } from '../../../contract/text/utf8.ts';
import { containerOptionsOf } from '../../container/options.ts';

const MAX_BYTES = 262_144;
const ENV_DIR = 'env_file_dir';
const PROFILE = 'permission_profile_name_or_path';
/** A line of an environment file, such as `export NAME="value"`. */
const VARIABLE = /^(?:export\s+)?([A-Za-z_]\w*)=(.*)$/u;

type Read = { readonly config: RunConfig } | { readonly problems: readonly Problem[] };

/** A file cannot be used. `message` is for users and quotes nothing of its content. */
class FileFault extends Error {}

/** Replaces `env_file_dir` by the variables in its files, and the path of a permission profile by the profile. */
async function withNamedFiles(config: RunConfig): Promise<Read> {
  const problems: Problem[] = [];
  const attempt = async (path: keyof RunConfig, read: () => Promise<Partial<RunConfig>>) => {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof FileFault)) throw error;
      problems.push({ reason: 'InvalidValue', path, message: error.message });
      return {};
    }
  };
  const { [ENV_DIR]: dir, ...others } = config;
  const variables = dir ? await attempt(ENV_DIR, async () => ({ env_vars: await readVariables(dir, config) })) : {};
  const merged = { ...(dir ? others : config), ...variables };
  const file = config[PROFILE] ?? '';
  if (isAbsolute(file) && config.permission_profile === undefined) {
    const profiled = await attempt(PROFILE, () => readProfile(file, merged));
    if (problems.length === 0) return { config: withoutPath({ ...merged, ...profiled }) };
  }
  return problems.length > 0 ? { problems } : { config: merged };
}

const withoutPath = ({ [PROFILE]: _path, ...config }: RunConfig): RunConfig => config;

/** Returns the variables in the files of a folder, in the order of their names; those of the configuration take precedence. */
async function readVariables(dir: string, { env_vars: own }: RunConfig): Promise<Record<string, string>> {
  if (!isAbsolute(dir)) throw new FileFault('must be the absolute path of a folder');
  const entries = await readdir(dir, { withFileTypes: true }).catch((error: unknown) => {
    throw new FileFault(`${dir} cannot be read (${errorCode(error)}): create it or correct the path`);
  });
  const names = entries.filter((entry) => !entry.isDirectory() && !entry.name.startsWith('.')).map(({ name }) => name);
  const found: Record<string, string> = {};
  for (const name of names.toSorted()) {
    const lines = (await readText(join(dir, name))).split(/\r?\n/u).map((line) => line.trim());
    for (const [index, line] of lines.entries()) {
      if (line === '' || line.startsWith('#')) continue;
      const [, variable, value = ''] = VARIABLE.exec(line) ?? [];
      if (variable === undefined)
        throw new FileFault(`${join(dir, name)}: line ${String(index + 1)} is not NAME=VALUE: correct or remove it`);
      found[variable] = /^(["']).*\1$/u.test(value) && value.length > 1 ? value.slice(1, -1) : value;
    }
  }
  return { ...found, ...own };
}

async function readProfile(file: string, config: RunConfig): Promise<Partial<RunConfig>> {
  const text = await readText(file);
  let document: unknown;
  try {
    document = parse(text);
  } catch {
    throw new FileFault(`${file} is neither JSON nor YAML: correct it`);
  }
  const read = readDocument(ClosedPermissionProfile, document);
  if ('problems' in read) throw new FileFault(sentenceOf(file, read.problems));
  const profiled = { ...withoutPath(config), permission_profile: read.config };
  const { problems } = containerOptionsOf(profiled);
  if (problems.length > 0) throw new FileFault(sentenceOf(file, problems));
  return { permission_profile: read.config };
}

const sentenceOf = (file: string, problems: readonly Problem[]): string =>
  `${file}: ${problems.map(({ path, message }) => `${path}: ${message}`).join('; ')}`;

async function readText(file: string): Promise<string> {
  const content = await readFile(file).catch((error: unknown) => {
    throw new FileFault(`${file} cannot be read (${errorCode(error)}): use a file that this user can read`);
  });
  if (content.length > MAX_BYTES) throw new FileFault(`${file} has more than 256 KiB: shorten it`);
  const text = decodeUtf8(content);
  if (text === undefined) throw new FileFault(`${file} is not UTF-8: save it in that encoding`);
  return text;
}

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
