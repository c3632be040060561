import { OperationError } from '../../http/endpoint/request-error.ts';

/** Errors of the operations on skills, by their codes. */
export const SKILL_ERRORS = {
  invalid_skill_request: { status: 400, message: 'the request is not valid' },
  source_unauthorized: { status: 401, message: 'the source of the skill rejected the credential, or needs one' },
  signature_required: { status: 403, message: 'the skill has no signature that can be verified' },
  skill_not_found: { status: 404, message: 'there is no such skill' },
  group_not_found: { status: 404, message: 'there is no such group' },
  skill_conflict: { status: 409, message: 'an existing folder or entry prevents it' },
  unusable_skill: { status: 422, message: 'the skill cannot be used' },
  source_throttled: { status: 429, message: 'the source of the skill limits requests: try again later' },
  source_failed: { status: 502, message: 'the source of the skill failed' },
  source_timeout: { status: 504, message: 'the source of the skill gave no answer in time' },
} as const;

type SkillErrorCode = keyof typeof SKILL_ERRORS;

/** Error of an operation on skills. `detail` is one sentence for the user. */
export class SkillError extends OperationError {
  constructor(code: SkillErrorCode, detail: string) {
    super(code, detail);
    this.name = 'SkillError';
  }
}
