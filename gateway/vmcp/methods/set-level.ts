import { memberOf } from '../../http/json-walk.ts';
import { readString } from '../../http/json-scan.ts';
import { LOG_LEVELS } from '../log-level.ts';
import { CODE } from '../error-codes.ts';
import type { Method } from './method.ts';

/**
 * Serves `logging/setLevel`: stores the level in the session, sends it to the session's backends, and filters their
 * messages by it.
 */
export const setLevel: Method = (server, { session, body, envelope, answer }) => {
  const level = readString(body, memberOf(body, envelope.params, 'level'));
  const index = (LOG_LEVELS as readonly (string | undefined)[]).indexOf(level);
  if (index === -1) {
    answer.error(CODE.invalidParams, `"level" must be one of ${LOG_LEVELS.join(', ')}`);
    return;
  }
  server.setLogLevel(session, index);
  answer.result('{}');
};
