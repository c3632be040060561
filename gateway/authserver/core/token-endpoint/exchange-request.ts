import { accepted, refused, type Outcome } from '../refusal.ts';
import type { RequestParameters } from '../request-parameters.ts';

const TYPE_PREFIX = 'urn:ietf:params:oauth:token-type:';

/** Type of the issued tokens. @see RFC 8693 §3 */
export const ISSUED_TYPE = `${TYPE_PREFIX}access_token`;

const PRESENTED_TYPES: readonly string[] = ['access_token', 'jwt', 'id_token'].map((name) => TYPE_PREFIX + name);

export interface ExchangeRequest {
  readonly subjectToken: string;
  readonly actorToken: string | undefined;
  /** Values of `resource` and `audience`. */
  readonly targets: readonly string[];
  readonly scope: string | undefined;
}

/** Reads the parameters of a token exchange. @see RFC 8693 §2.1 */
export function readExchangeRequest(parameters: RequestParameters): Outcome<ExchangeRequest> {
  const subjectToken = parameters.one('subject_token');
  const subjectType = parameters.one('subject_token_type');
  if (subjectToken === undefined || subjectType === undefined) return refused('exchange_subject_missing');
  const actorToken = parameters.one('actor_token');
  const actorType = parameters.one('actor_token_type');
  if ((actorToken === undefined) !== (actorType === undefined)) return refused('exchange_actor_missing');
  const types = [subjectType, actorType ?? subjectType];
  if (!types.every((type) => PRESENTED_TYPES.includes(type))) return refused('exchange_token_type');
  if ((parameters.one('requested_token_type') ?? ISSUED_TYPE) !== ISSUED_TYPE)
    return refused('exchange_requested_type');
  const targets = [...new Set([...parameters.all('resource'), ...parameters.all('audience')])];
  return accepted({ subjectToken, actorToken, targets, scope: parameters.one('scope') });
}
