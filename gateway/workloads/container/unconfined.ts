import type { PermissionProfile } from '../../contract/container/permission-profile.ts';
import type { Problem } from '../../contract/problem.ts';
import type { RunConfig } from '../../contract/run-config/run-config.ts';

const ADVICE = 'use a container image, or remove it';

/** Members that only a container can have, with the reason why a process cannot. */
const CONTAINER_ONLY = [
  { path: 'volumes', why: 'a process sees all files of its user' },
  { path: 'publish', why: 'a process opens its ports itself' },
  { path: 'container_labels', why: 'a process has no labels' },
] as const;

/** Lists settings of an `npx://` or `uvx://` package that need a container. Pure. */
export function processProblems(config: RunConfig, profile: PermissionProfile): Problem[] {
  const problems = CONTAINER_ONLY.filter(({ path }) => isFilled(config[path])).map(({ path, why }) =>
    invalid(path, `${why}: ${ADVICE}`),
  );
  if (config.isolate_network === true) {
    const why = 'a package runs as a process of your user, whose network access cannot be limited';
    problems.push(invalid('isolate_network', `${why}: use a container image, or isolate_network: false`));
  }
  if (config.allow_container_gateway === true) {
    problems.push(invalid('allow_container_gateway', `a process is not isolated from this machine: ${ADVICE}`));
  }
  const limits = limitsOf(config, profile).map((path) =>
    invalid(path, `a process runs with the rights of your user, which a profile cannot change: ${ADVICE}`),
  );
  return [...problems, ...limits];
}

/** Lists settings of a remote server that need a container. A remote server has no network access to isolate. Pure. */
export const remoteProblems = (config: RunConfig): Problem[] =>
  CONTAINER_ONLY.filter(({ path }) => isFilled(config[path])).map(({ path }) =>
    invalid(path, 'a remote server has no container: remove it'),
  );

/** Lists the members of the profile that would change the rights of a process. */
function limitsOf(config: RunConfig, profile: PermissionProfile): string[] {
  const { network, privileged, read = [], write = [] } = profile;
  const { mode = '', inbound, outbound } = network ?? {};
  const base = 'permission_profile';
  return [
    ...(config.permission_profile === undefined && profile.name === 'none' ? [`${base}_name_or_path`] : []),
    ...(config.permission_profile !== undefined && network === undefined && profile.name === 'none' ? [base] : []),
    ...(['', 'bridge', 'default', 'host'].includes(mode) ? [] : [`${base}.network.mode`]),
    ...((inbound?.allow_host ?? []).length > 0 ? [`${base}.network.inbound`] : []),
    ...(outbound !== undefined && outbound.insecure_allow_all !== true ? [`${base}.network.outbound`] : []),
    ...(privileged === true ? [`${base}.privileged`] : []),
    ...(read.length > 0 ? [`${base}.read`] : []),
    ...(write.length > 0 ? [`${base}.write`] : []),
  ];
}

const isFilled = (value: readonly string[] | Readonly<Record<string, string>> | undefined): boolean =>
  value !== undefined && Object.keys(value).length > 0;

const invalid = (path: string, message: string): Problem => ({ reason: 'InvalidValue', path, message });
