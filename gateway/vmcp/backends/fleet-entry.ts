import type { OutgoingEntry } from '../../contract/gateway-config.ts';
import type { LaunchProblem } from '../../workloads/runner/runner.ts';
import { BackendLists } from './backend-lists.ts';
import type { BackendRuntime } from './backend.ts';

/** One backend of a fleet with the results of its probes. */
export interface FleetEntry {
  readonly runtime: BackendRuntime;
  readonly auth: OutgoingEntry | undefined;
  /** Lists for all principals; those of a backend with per-user credentials stay empty. */
  readonly lists: BackendLists;
  /** True while a timer waits to read an announced change. */
  announced: boolean;
  /** Timer for another reading of lists that are missing or empty. */
  retry: NodeJS.Timeout | undefined;
  /** True when the backend has answered or has used up the time for it. */
  settled: boolean;
  /** Failed probes in a row. */
  failures: number;
  /** True when the log has the current failure. */
  reported: boolean;
  /** Reason why the process could not be started last. */
  launch: LaunchProblem | undefined;
}

/** Returns the entry of a backend that was not probed yet. */
export const newFleetEntry = (runtime: BackendRuntime, auth: OutgoingEntry | undefined): FleetEntry => ({
  runtime,
  auth,
  lists: new BackendLists(),
  announced: false,
  retry: undefined,
  settled: false,
  failures: 0,
  reported: false,
  launch: undefined,
});
