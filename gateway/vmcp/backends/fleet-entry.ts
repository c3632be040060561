import type { OutgoingEntry } from '../../contract/gateway-config.ts';
import type { LaunchProblem } from '../../workloads/runner/runner.ts';
import type { Catalog } from '../aggregation/catalog.ts';
import type { Warning } from '../aggregation/view.ts';
import type { Channel } from '../transport/channel.ts';
import type { BackendRuntime } from './backend.ts';

/** One backend of a fleet with the results of its probes. */
export interface FleetEntry {
  readonly runtime: BackendRuntime;
  readonly auth: OutgoingEntry | undefined;
  catalog: Catalog | undefined;
  /** The channel that `catalog` was read from. */
  channel: Channel | undefined;
  /** True when a list has changed or could not be read: the next probe reads all lists. */
  stale: boolean;
  /** True while a timer waits to read an announced change. */
  announced: boolean;
  /** Warnings of the last discovery. */
  warnings: readonly Warning[];
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
  catalog: undefined,
  channel: undefined,
  stale: false,
  announced: false,
  warnings: [],
  settled: false,
  failures: 0,
  reported: false,
  launch: undefined,
});
