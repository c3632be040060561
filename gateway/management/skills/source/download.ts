import type { LookupFunction } from 'node:net';
import type { Outbound } from '../../../outbound/fetch.ts';
import { OutboundError } from '../../../outbound/outbound-error.ts';
import type { OutboundPolicy } from '../../../outbound/policy.ts';
import { SkillError } from '../errors.ts';
import { ArchiveError } from './archive-path.ts';

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

/** Translates a failure to download `what` into the error of the operation. Returns any other error as it is. */
export function sourceError(error: unknown, what: string): unknown {
  if (error instanceof ArchiveError)
    return new SkillError('unusable_skill', `${what} cannot be used: ${error.message}`);
  if (error instanceof DOMException && error.name === 'TimeoutError') return timeout(what);
  if (!(error instanceof OutboundError)) return error;
  switch (error.kind) {
    case 'refused':
      return new SkillError(
        'invalid_skill_request',
        `${what} is not on a public host with https: choose another source`,
      );
    case 'timeout':
      return timeout(what);
    case 'not_text':
      return new SkillError('unusable_skill', `${what} cannot be used: ${error.message}`);
    case 'too_large':
      return new SkillError('unusable_skill', `${what} is too large: ${error.message}`);
    case 'unreachable':
    case 'redirect':
      return new SkillError('source_failed', `${what} cannot be downloaded: ${error.message}`);
  }
}

const timeout = (what: string): SkillError =>
  new SkillError('source_timeout', `${what} was not downloaded in time: try again later`);

/** Returns the error for a reply of a source that is not a success. */
export function statusError(status: number, what: string): SkillError {
  if (status === 401 || status === 403) {
    const detail = `${what} is private or does not exist: check its name, and the credential for its host`;
    return new SkillError('source_unauthorized', detail);
  }
  if (status === 404) return new SkillError('skill_not_found', `${what} does not exist: check its name and version`);
  if (status === 429) return new SkillError('source_throttled', `the host of ${what} limits requests: try again later`);
  return new SkillError('source_failed', `the host of ${what} answered with status ${String(status)}`);
}
