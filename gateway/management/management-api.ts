import { randomUUID } from 'node:crypto';
import type { RequestHandler } from 'express';
import type { Logger } from '../contract/logger.ts';
import { OperationError } from '../http/endpoint/request-error.ts';
import type { RegistryEntry as WorkloadEntry } from '../workloads/definition/entry/registry-entry.ts';
import type { WorkloadServices } from '../workloads/services.ts';
import { SecretValues } from '../workloads/store/local/secret-values.ts';
import type { Workloads } from '../workloads/workloads.ts';
import type { UserFolders } from './clients/config-file.ts';
import { ClientRegistrations, type GroupEndpoint } from './clients/registrations.ts';
import type { ClusterAccess } from './cluster-access.ts';
import { openApiOf } from './frame/openapi.ts';
import { serveOperations } from './frame/serve-operations.ts';
import { ClusterGroups } from './groups/cluster-groups.ts';
import { Groups, groupsFile } from './groups/groups.ts';
import { OPERATIONS } from './operations.ts';
import type { ExplainedServers } from './policies/explained-servers.ts';
import type { Entries } from './registry/document/server-entries.ts';
import { findProblem, findServer } from './registry/lookup.ts';
import { Registry, type RegistryOptions } from './registry/registry.ts';
import { Secrets, type SecretsOptions } from './secrets/secrets.ts';
import { Skills } from './skills/skills.ts';
import type { SkillEntry } from './skills/source/registry-entry.ts';

export interface ManagementApiOptions {
  /** Folder of all documents of the API. It belongs to this process alone. */
  readonly stateDir: string;
  /** Folders of the user whose clients are registered. */
  readonly folders: UserFolders;
  /** Lists the MCP endpoints that run now. */
  readonly endpoints: () => readonly GroupEndpoint[];
  /** Lists the groups of files of `vmcp up`. */
  readonly fileGroups?: (() => readonly string[]) | undefined;
  /** Lists the virtual servers and workloads that run in this process. */
  readonly servers: ExplainedServers;
  readonly registry: Pick<RegistryOptions, 'isReadOnly' | 'loginPorts'>;
  /** Places of the secrets and of their password, beside the state folder. */
  readonly secrets: Omit<SecretsOptions, 'stateDir' | 'cluster'>;
  /** Cluster that holds groups and secrets, in place of the state folder. */
  readonly cluster?: ClusterAccess | undefined;
  /** Creates the store of workloads. */
  readonly workloads: (services: WorkloadServices) => Workloads;
  /** Aborted when the process drains: streams end. */
  readonly draining: AbortSignal;
  readonly version: string;
  /** Environment of the process: tokens, and the PATH on which programs are found. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Allows sources of skills on private and loopback addresses. */
  readonly allowPrivateIp?: boolean | undefined;
  /** ms since the epoch. */
  readonly now: () => number;
  readonly log: Logger;
}

const DEFAULT_REGISTRY = 'default';

/** Throws `invalid_workload` for an entry that cannot be used. */
function workloadEntry(entries: Entries, name: string): WorkloadEntry | undefined {
  const found = findServer(entries, name);
  const entry = found?.server ?? found?.remote_server;
  const problem = entry ? undefined : findProblem(entries, name);
  if (problem !== undefined) throw new OperationError('invalid_workload', problem);
  return entry && { ...entry, name: entry.name ?? '' };
}

/** Creates the handler of the management API. Passes requests for other paths to the next handler. */
export function createManagementApi(options: ManagementApiOptions): RequestHandler {
  const { stateDir, folders, endpoints, env, allowPrivateIp, draining, now, version, log, cluster } = options;
  const groups = new Groups(cluster ? new ClusterGroups(cluster) : groupsFile(stateDir), options.fileGroups);
  const clients = new ClientRegistrations({ groups, folders, endpoints, now });
  const secrets = new Secrets({ stateDir, cluster, ...options.secrets });
  const registry = new Registry({ ...options.registry, secrets: secrets.system('registry'), stateDir, now, log });
  const registrySkills = (): Promise<readonly SkillEntry[]> => registry.skills();
  const skills = new Skills({ stateDir, folders, groups, env, now, registrySkills, allowPrivateIp });
  const workloads = options.workloads({
    secrets: new SecretValues(secrets, secrets.system('workloads')),
    directory: clients,
    hasGroup: (name) => groups.has(name),
    findServer: async (name, server) =>
      name === DEFAULT_REGISTRY ? workloadEntry(await registry.entries(), server) : undefined,
  });
  let document: unknown;
  const openApi = (): unknown => (document ??= openApiOf(OPERATIONS, version));
  const services = { clients, groups, registry, secrets, skills, workloads, servers: options.servers };
  const facts = { nonce: randomUUID(), now, version, openApi };
  return serveOperations(OPERATIONS, { ...services, ...facts }, { log, draining });
}
