import type { AuthServerContext } from '../context.ts';

/**
 * Handle of a leg that one path brings back: with the `state` of another path's leg, nothing is found, and so nothing is
 * consumed. At the shared callback it is the `state` alone. @see RFC 9700 §4.4
 */
export const legHandle = (state: string, path: string, { settings }: Pick<AuthServerContext, 'settings'>): string =>
  path === new URL(settings.callbackUrl).pathname ? state : `${state}${SEPARATOR}${path}`;

const SEPARATOR = ' ';

/** Returns true for a text that can be the `state` of a leg: with a path in it, it would be a handle of another callback. */
export const isState = (text: string): boolean => !text.includes(SEPARATOR);
