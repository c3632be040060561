import { objectMembers } from '../../http/json-walk.ts';
import { readString } from '../../http/json-scan.ts';
import { LOG_LEVELS } from '../log-level.ts';
import { CODE } from '../error-codes.ts';
import type { Method } from './method.ts';

/** `logging/setLevel`: kept per session, applied where messages of backends pass. */
export const setLevel: Method = (_server, session, { body, envelope }, answer) => {
  const level = envelope.params && readString(body, objectMembers(body, envelope.params).get('level'));
  const index = (LOG_LEVELS as readonly (string | undefined)[]).indexOf(level);
  if (index === -1) {
    answer.error(CODE.invalidParams, `"level" must be one of ${LOG_LEVELS.join(', ')}`);
    return;
  }
  session.logLevel = index;
  answer.result('{}');
};
