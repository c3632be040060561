import type { LookupFunction } from 'node:net';
import type { Outbound } from '../../../outbound/fetch.ts';
import type { OutboundPolicy } from '../../../outbound/policy.ts';

/** Means of downloading. */
export interface DownloadDeps {
  readonly outbound: Outbound;
  /** Policy of `outbound`, for programs that connect by themselves. */
  readonly policy: OutboundPolicy;
  readonly lookup: LookupFunction;
  /** Environment of this process: tokens, the place of programs and of the credentials of container engines. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Home folder of the user. */
  readonly home: string;
}

export interface DownloadRequest {
  /** New, empty folder for the files of the skill. */
  readonly folder: string;
  /** False for a source that the document of another skill names: it gets no credential that is not bound to its host. */
  readonly isNamedByUser: boolean;
  /** Ends the download. */
  readonly signal: AbortSignal;
}

/** Source of a skill whose files are in a folder of their own. */
export interface Download {
  /** Reference that leads to exactly these files again. */
  readonly reference: string;
  readonly tag?: string;
  /** Digest of the manifest, or id of the commit. */
  readonly digest: string;
}
