import { OutboundError } from '../../../outbound/outbound-error.ts';
import { SkillError } from '../skill-error.ts';
import { ArchiveError } from './archive-error.ts';

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
