import type { Backend } from '../../contract/gateway-config.ts';
import { DISCOVERY, type ChannelOwner } from './channel.ts';

export type Isolation = NonNullable<Backend['isolation']>;

/** Owner of a stdio channel; without `principal` the client is anonymous. */
export type PrincipalOwner = ChannelOwner & { readonly principal?: string | undefined };

/** Key of the process for the gateway's own channel; unused where processes are shared. */
export const OWN_PROCESS = `session ${DISCOVERY}`;

/** Returns the key of the owner's process. Owners with equal keys share a process. */
export function processKey(isolation: Isolation, owner: PrincipalOwner): string {
  switch (isolation) {
    case 'shared':
      return 'shared';
    case 'session':
      return `session ${owner.key}`;
    case 'principal':
      return owner.principal === undefined ? 'anonymous' : `principal ${owner.principal}`;
  }
}

/** Returns true when several client sessions may use one process. */
export const isShared = (isolation: Isolation): boolean => isolation !== 'session';

/** Features of a single client. They are not offered to a process that several clients share. */
const CLIENT_FEATURES = ['sampling', 'elicitation', 'roots', 'tasks'];

/** Returns the JSON text of the client capabilities offered to a process. */
export function offeredCapabilities(capabilities: string, shared: boolean): string {
  if (!shared) return capabilities;
  const offered = Object.entries(JSON.parse(capabilities) as Record<string, unknown>);
  return JSON.stringify(Object.fromEntries(offered.filter(([name]) => !CLIENT_FEATURES.includes(name))));
}
