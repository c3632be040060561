import type { AuthServerContext } from '../context.ts';

/** 128 bits, so that nobody can guess it. */
const TSID_BYTES = 16;

/** Creates the handle of the upstream tokens of one login. */
export const newTsid = (random: AuthServerContext['random']): string => random(TSID_BYTES).toString('base64url');
