import { SKILL_OPERATIONS } from './skills/operations.ts';
import { PROTOCOL_OPERATIONS } from './registry/protocol-operations.ts';
import { REGISTRY_OPERATIONS } from './registry/operations.ts';
import { SECRET_OPERATIONS } from './secrets/operations.ts';
import { SERVER_OPERATIONS } from './server/operations.ts';
import { POLICY_OPERATIONS } from './policies/operations.ts';
import { GROUP_OPERATIONS } from './groups/operations.ts';
import { CLIENT_OPERATIONS } from './clients/operations.ts';
import type { ManagementOperation } from './operation.ts';
import { checkWorkloadUpgrade } from './workloads/operations/upgrade/check-workload-upgrade.ts';
import { checkWorkloadUpgrades } from './workloads/operations/upgrade/check-workload-upgrades.ts';
import { createWorkload } from './workloads/operations/create-workload.ts';
import { deleteWorkload } from './workloads/operations/delete-workload.ts';
import { deleteWorkloads } from './workloads/operations/delete-workloads.ts';
import { editWorkload } from './workloads/operations/edit-workload.ts';
import { exportWorkload } from './workloads/operations/export-workload.ts';
import { getWorkload } from './workloads/operations/get-workload.ts';
import { getWorkloadLogs } from './workloads/operations/get-workload-logs.ts';
import { getWorkloadProxyLogs } from './workloads/operations/get-workload-proxy-logs.ts';
import { getWorkloadStatus } from './workloads/operations/get-workload-status.ts';
import { importWorkload } from './workloads/operations/import-workload.ts';
import { listWorkloads } from './workloads/operations/list-workloads.ts';
import { restartWorkload } from './workloads/operations/restart-workload.ts';
import { restartWorkloads } from './workloads/operations/restart-workloads.ts';
import { startWorkload } from './workloads/operations/start-workload.ts';
import { startWorkloads } from './workloads/operations/start-workloads.ts';
import { stopWorkload } from './workloads/operations/stop-workload.ts';
import { stopWorkloads } from './workloads/operations/stop-workloads.ts';
import { upgradeWorkload } from './workloads/operations/upgrade/upgrade-workload.ts';

/** Operations of the management API, in the order of the documentation. */
export const OPERATIONS: readonly ManagementOperation[] = [
  ...CLIENT_OPERATIONS,
  ...GROUP_OPERATIONS,
  ...REGISTRY_OPERATIONS,
  ...PROTOCOL_OPERATIONS,
  ...SECRET_OPERATIONS,
  ...SKILL_OPERATIONS,
  listWorkloads,
  createWorkload,
  deleteWorkloads,
  stopWorkloads,
  startWorkloads,
  restartWorkloads,
  importWorkload,
  checkWorkloadUpgrades,
  getWorkload,
  deleteWorkload,
  editWorkload,
  exportWorkload,
  checkWorkloadUpgrade,
  upgradeWorkload,
  getWorkloadStatus,
  getWorkloadLogs,
  getWorkloadProxyLogs,
  stopWorkload,
  startWorkload,
  restartWorkload,
  ...POLICY_OPERATIONS,
  ...SERVER_OPERATIONS,
];
