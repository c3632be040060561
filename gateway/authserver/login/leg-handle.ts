import type { AuthServerContext } from '../context.ts';

/**
 * Returns the store key of a leg. It contains the callback path, so that a `state` sent to the callback of another provider
 * finds no leg and uses none up. At the shared callback the key is the `state` alone. @see RFC 9700 §4.4
 */
export const legHandle = (state: string, path: string, { settings }: Pick<AuthServerContext, 'settings'>): string =>
  path === new URL(settings.callbackUrl).pathname ? state : `${state}${SEPARATOR}${path}`;

const SEPARATOR = ' ';

/** Returns true for a text that can be a `state`. With a separator it could be the key of a leg at another callback. */
export const isState = (text: string): boolean => !text.includes(SEPARATOR);
