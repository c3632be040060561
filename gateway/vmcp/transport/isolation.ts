import type { Backend } from '../../contract/gateway-config.ts';
import { DISCOVERY, type ChannelOwner } from './channel.ts';

export type Isolation = NonNullable<Backend['isolation']>;

/** Owner of a stdio channel; without `principal` the caller is anonymous. */
export type PrincipalOwner = ChannelOwner & { readonly principal?: string | undefined };

/** Key of the process that only the gateway's own channel uses; where processes are shared there is none. */
export const OWN_PROCESS = `session ${DISCOVERY}`;

/** Owners with the same key use the same process. */
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

/** Whether more than one client session may come to use one process. */
export const isShared = (isolation: Isolation): boolean => isolation !== 'session';

/** What a backend could ask of one client; it cannot be offered where several clients stand behind one process. */
const CLIENT_FEATURES = ['sampling', 'elicitation', 'roots', 'tasks'];

/** JSON text of the client capabilities that a process may be offered. */
export function offeredCapabilities(capabilities: string, shared: boolean): string {
  if (!shared) return capabilities;
  const offered = Object.entries(JSON.parse(capabilities) as Record<string, unknown>);
  return JSON.stringify(Object.fromEntries(offered.filter(([name]) => !CLIENT_FEATURES.includes(name))));
}
