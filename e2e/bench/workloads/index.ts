import { managementApi } from './management.ts';
import { startup } from './start.ts';
import { toolCalls } from './w1-tool-calls.ts';
import { authenticatedCalls } from './w2-w3-authenticated-calls.ts';
import { toolList } from './w4-tool-list.ts';
import { sessionChurn } from './w5-session-churn.ts';
import { idleSessions } from './w6-idle-sessions.ts';
import { badNeighbours } from './w7-bad-neighbours.ts';
import { codeGrants } from './w8-logins.ts';
import { authorizedCalls } from './w9-authorization.ts';
import { rateLimits } from './w10-rate-limits.ts';
import { tracedCalls } from './w12-telemetry.ts';
import { callsWithoutSessions } from './w13-calls-without-sessions.ts';
import { overloadedAudit } from './w14-audit-overload.ts';
import { filteredLists } from './w15-filtered-lists.ts';
import { sharedSessions } from './w16-shared-sessions.ts';
import { auditedCalls } from './w11-audit.ts';
import type { Workload } from '../workload.ts';

/** All workloads, in the order of the printed table. A new one is one file and one line here. */
export const WORKLOADS: readonly Workload[] = [
  toolCalls,
  ...authenticatedCalls,
  toolList,
  sessionChurn,
  idleSessions,
  badNeighbours,
  codeGrants,
  authorizedCalls,
  rateLimits,
  tracedCalls,
  auditedCalls,
  callsWithoutSessions,
  overloadedAudit,
  filteredLists,
  sharedSessions,
  managementApi,
  startup,
];
