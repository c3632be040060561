import type { UpstreamTokenNeed } from '../../outgoing/upstream-tokens.ts';
import type { UpstreamRow } from '../storage/records.ts';

/** Time before expiry at which a token is refreshed. */
const ACCESS_TOKEN_MARGIN_MS = 60_000;
const ID_TOKEN_MARGIN_MS = 30_000;

type Tokens = Pick<UpstreamRow, 'accessToken' | 'idToken' | 'expiresAt' | 'idTokenExpiresAt'>;

export interface Judgement {
  /** They satisfy the need and need no refresh yet. */
  readonly fresh: boolean;
  /** They satisfy the need, but should be refreshed. */
  readonly usable: boolean;
}

const lasts = (end: number | undefined, until: number): boolean => end === undefined || end > until;

/** Compares tokens with a need. @param now ms since the epoch. */
export function judge(tokens: Tokens, need: UpstreamTokenNeed, now: number): Judgement {
  const { accessToken, expiresAt, idToken, idTokenExpiresAt } = tokens;
  if (need.refused?.reveal() === accessToken) return { fresh: false, usable: false };
  const idTokenLasts = (until: number): boolean =>
    need.idToken !== true || (idToken !== undefined && lasts(idTokenExpiresAt, until));
  return {
    fresh: lasts(expiresAt, now + ACCESS_TOKEN_MARGIN_MS) && idTokenLasts(now + ID_TOKEN_MARGIN_MS),
    usable: lasts(expiresAt, now) && idTokenLasts(now),
  };
}
