import type { Workloads } from '../workloads/workloads.ts';
import type { ClientRegistrations } from './clients/registrations/client-registrations.ts';
import type { Groups } from './groups/groups.ts';
import type { ExplainedServers } from './policies/explained-servers.ts';
import type { Registry } from './registry/service/registry.ts';
import type { Secrets } from './secrets/secrets.ts';
import type { Skills } from './skills/skills.ts';

/** Services that the operations use, one for each resource. */
export interface ManagementContext {
  readonly clients: ClientRegistrations;
  readonly groups: Groups;
  readonly registry: Registry;
  readonly secrets: Secrets;
  readonly skills: Skills;
  readonly workloads: Workloads;
  readonly servers: ExplainedServers;
  /** ms since the epoch. */
  readonly now: () => number;
  /** Version of vmcp. */
  readonly version: string;
  /** Random text of this process. */
  readonly nonce: string;
  /** Returns the OpenAPI document. */
  readonly openApi: () => unknown;
}
