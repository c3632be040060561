import type { AuthServerContext } from '../context.ts';

/** 128 bits: useless outside of issued tokens, but nobody may guess it either. */
const TSID_BYTES = 16;

/** Handle of the upstream tokens of one login. */
export const newTsid = (random: AuthServerContext['random']): string => random(TSID_BYTES).toString('base64url');
