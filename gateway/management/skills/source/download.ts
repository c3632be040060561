import type { LookupFunction } from 'node:net';
import type { Outbound } from '../../../outbound/fetch.ts';
import type { OutboundPolicy } from '../../../outbound/policy.ts';

/** Dependencies of downloads. */
export interface DownloadDeps {
  readonly outbound: Outbound;
  /** Policy of `outbound`, for programs such as git that open their own connections. */
  readonly policy: OutboundPolicy;
  readonly lookup: LookupFunction;
  /** Environment of this process: tokens, PATH, and the folder with the credentials of container engines. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Home folder of the user. */
  readonly home: string;
  /** Limit of a git repository on disk; 500 MiB when absent. */
  readonly maxRepositoryBytes?: number;
}

export interface DownloadRequest {
  /** New, empty folder for the files of the skill. */
  readonly folder: string;
  /** False for a host that only another skill or a registry names: it gets no credential, except those for its host. */
  readonly isNamedByUser: boolean;
  /** Cancels the download. */
  readonly signal: AbortSignal;
}

/** Facts of a skill that was downloaded. */
export interface Download {
  /** Reference that leads to exactly these files again. */
  readonly reference: string;
  readonly tag?: string;
  /** Digest of the manifest, or id of the commit. */
  readonly digest: string;
  /** Paths that the skill is installed without, if there are any; a folder ends with `/`. */
  readonly leftOut?: readonly string[];
}
