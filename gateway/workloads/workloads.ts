import type { RunConfig } from '../contract/run-config/run-config.ts';
import type { FromRegistry } from './definition/entry/registry-entry.ts';
import type { NewWorkload, WorkloadSettings } from './definition/settings.ts';

/** States of a workload, as the API writes them. */
export const WORKLOAD_STATES = [
  'running',
  'stopped',
  'error',
  'starting',
  'stopping',
  'unhealthy',
  'removing',
  'unknown',
  'unauthenticated',
  'auth_retrying',
  'policy_stopped',
] as const;
export type WorkloadState = (typeof WORKLOAD_STATES)[number];

export interface WorkloadStatus {
  readonly status: WorkloadState;
  /** Reason for the status; absent for a workload that runs or was stopped by its user. */
  readonly status_context?: string;
}

/** A workload and its current state. Times are RFC 3339 in UTC; a workload that never ran has the zero time. */
export interface Workload extends WorkloadStatus {
  readonly config: RunConfig;
  readonly created_at: string;
  readonly started_at: string;
  /** Port on which clients reach it; 0 before one was chosen. */
  readonly port: number;
  /** URL for clients; empty before there is a port. */
  readonly url: string;
  /** True if a file of `vmcp up` describes it. */
  readonly isFromFile?: boolean;
}

/** Workload that a file of `vmcp up` describes: the API shows it and cannot change it. */
export interface FileWorkload {
  readonly workload: Workload;
  /** `file:line`. */
  readonly place: string;
}

export interface WorkloadLogOptions {
  /** Output of the server, or log lines of vmcp about the workload. */
  readonly source: 'server' | 'proxy';
  /** Number of the last lines to return. */
  readonly tail: number;
  /** Epoch ms of the oldest line to return. */
  readonly since?: number;
}

/** Port of a workload, answered by `create` and `edit`. */
export interface Placed {
  readonly name: string;
  readonly port: number;
  /** Settings that the workload has from a registry entry; absent without one. */
  readonly from_registry?: FromRegistry;
}

/** New settings, and those of them that come from a registry entry. */
export interface DerivedSettings {
  readonly settings: WorkloadSettings;
  readonly from?: FromRegistry;
}

/** New settings, or a function that derives them from the stored ones: no other edit comes between. */
export type WorkloadEdit = WorkloadSettings | ((stored: RunConfig) => DerivedSettings);

export const derivedSettings = (edit: WorkloadEdit, stored: RunConfig): DerivedSettings =>
  typeof edit === 'function' ? edit(stored) : { settings: edit };

export const settingsOf = (edit: WorkloadEdit, stored: RunConfig): WorkloadSettings =>
  derivedSettings(edit, stored).settings;

/**
 * Workloads that the management API manages: on this machine, or as MCPServers of a cluster. Methods reject with
 * `OperationError` and a code of `WORKLOAD_ERRORS`. What they acknowledge survives a crash.
 */
export interface Workloads {
  /** Lists all workloads by name. */
  list(): Promise<readonly Workload[]>;
  /** Throws `workload_not_found`. */
  get(name: string): Promise<Workload>;
  /** Resolves when the workload is stored; its start continues in the background, except failures that are known at once. */
  create(request: NewWorkload, signal: AbortSignal): Promise<Placed>;
  /** As `create`, from an exported run configuration. */
  import(config: RunConfig, signal: AbortSignal): Promise<Placed>;
  /**
   * Validates and prepares the new settings while the workload continues, stores them, and swaps in the background. If
   * the new settings cannot run, the old ones are restored and `status_context` has the reason. Throws what a function throws.
   */
  edit(name: string, edit: WorkloadEdit, signal: AbortSignal): Promise<Placed>;
  /** The following accept names that do not exist, store the request and continue in the background. */
  stop(names: readonly string[]): Promise<void>;
  start(names: readonly string[]): Promise<void>;
  restart(names: readonly string[]): Promise<void>;
  remove(names: readonly string[]): Promise<void>;
  /** Returns the last lines. Throws `workload_not_found`. */
  logs(name: string, options: WorkloadLogOptions): Promise<readonly string[]>;
  /** Follows the lines from the last ones on, until `signal` is aborted. Throws `workload_not_found`. */
  follow(name: string, options: WorkloadLogOptions, signal: AbortSignal): Promise<AsyncIterable<string>>;
  /** Resolves when background work has ended. Workloads that run stay `desired` for the next start. */
  close(): Promise<void>;
}

/** Errors of workloads by code, for the operations that declare them. */
export const WORKLOAD_ERRORS = {
  workload_not_found: {
    status: 404,
    message: 'there is no such workload: GET /api/v1beta/workloads?all=true lists them',
  },
  image_not_found: { status: 404, message: 'the image or package does not exist: check its name and version' },
  server_not_found: {
    status: 404,
    message: 'the registry has no such server: GET /api/v1beta/registry/default/servers lists them',
  },
  group_not_found: { status: 404, message: 'there is no such group: GET /api/v1beta/groups lists them' },
  invalid_workload: { status: 400, message: 'the settings are invalid: correct the named fields' },
  invalid_name: {
    status: 400,
    message: 'a workload name has letters, digits, ".", "_" and "-", at most 100, and starts with a letter or digit',
  },
  managed_by_files: { status: 400, message: 'the workload comes from a file of vmcp up: edit the file instead' },
  refused_by_policy: { status: 403, message: 'a policy refuses this change' },
  workload_exists: { status: 409, message: 'a workload of this name exists: choose another name, or edit it' },
  changed_meanwhile: {
    status: 409,
    message: 'the workload was changed by somebody else: read it again, then repeat the change',
  },
  image_unavailable: {
    status: 503,
    message: 'the image or package cannot be installed now: the log has the reason; try again',
  },
  engine_unavailable: {
    status: 503,
    message: 'neither docker nor podman responds: start one of them, or use an npx:// or uvx:// package',
  },
} as const;
