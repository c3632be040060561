import { CLIENT_OPERATIONS } from './clients/operations.ts';
import { GROUP_OPERATIONS } from './groups/operations.ts';
import type { ManagementOperation } from './operation.ts';
import { POLICY_OPERATIONS } from './policies/operations.ts';
import { REGISTRY_OPERATIONS } from './registry/operations.ts';
import { PROTOCOL_OPERATIONS } from './registry/protocol-operations.ts';
import { SECRET_OPERATIONS } from './secrets/operations.ts';
import { SERVER_OPERATIONS } from './server/operations.ts';
import { SKILL_OPERATIONS } from './skills/operations.ts';
import { WORKLOAD_OPERATIONS } from './workloads/operations.ts';

/** Operations of the management API, in the order of the documentation. */
export const OPERATIONS: readonly ManagementOperation[] = [
  ...CLIENT_OPERATIONS,
  ...GROUP_OPERATIONS,
  ...REGISTRY_OPERATIONS,
  ...PROTOCOL_OPERATIONS,
  ...SECRET_OPERATIONS,
  ...SKILL_OPERATIONS,
  ...WORKLOAD_OPERATIONS,
  ...POLICY_OPERATIONS,
  ...SERVER_OPERATIONS,
];
