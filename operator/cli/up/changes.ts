import type { Backend, GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import { serverKey, type RunnableServer } from './running-servers.ts';

type Members = Readonly<Record<string, unknown>>;

/** Lists the members that differ, sorted. */
function changedMembers(before: Members, after: Members): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name])).sort();
}

/** Returns the settings of a backend and of its process, by name as in the run configuration. */
const settingsOf = ({ process, ...backend }: Backend): Members => ({ ...backend, ...process });

/** Returns the settings of a server except its backends; vMCP settings stand beside the others. */
const otherSettings = ({ vmcp: { backends: _, ...vmcp }, ...config }: GatewayConfig): Members => ({
  ...config,
  ...vmcp,
});

const change = (name: string, members: readonly string[]): string[] =>
  members.length === 0 ? [] : [`~${name}: ${members.join(', ')}`];

function changesOf(before: GatewayConfig, after: GatewayConfig): string[] {
  const previous = new Map(before.vmcp.backends.map((backend) => [backend.name, backend]));
  const current = new Map(after.vmcp.backends.map((backend) => [backend.name, backend]));
  return [
    ...[...current.keys()].filter((name) => !previous.has(name)).map((name) => `+${name}`),
    ...[...previous.keys()].filter((name) => !current.has(name)).map((name) => `-${name}`),
    ...[...current.values()].flatMap((backend) => {
      const old = previous.get(backend.name);
      return old ? change(backend.name, changedMembers(settingsOf(old), settingsOf(backend))) : [];
    }),
    ...change('settings', changedMembers(otherSettings(before), otherSettings(after))),
  ];
}

/**
 * Renders what changed files mean for the servers that run before and after, a line each: `+` added, `-` removed,
 * `~name: settings` changed. Empty when nothing changed.
 */
export function describeChanges(before: readonly RunnableServer[], after: readonly RunnableServer[]): string[] {
  const previous = new Map(before.map((server) => [serverKey(server), server]));
  return after.flatMap((server) => {
    const old = previous.get(serverKey(server));
    const changes = old ? changesOf(old.config, server.config) : [];
    return changes.length === 0 ? [] : [`${serverKey(server)}  ${changes.join('  ')}`];
  });
}

/** Returns true when both have the same servers, so that names and URLs are those of the table. */
export function hasSameServers(before: readonly RunnableServer[], after: readonly RunnableServer[]): boolean {
  const keys = (servers: readonly RunnableServer[]): string => JSON.stringify(servers.map(serverKey));
  return keys(before) === keys(after);
}
