import type { ClientEntry } from './client-entry.ts';
import { freeName, labelOf } from './names.ts';
import { readServer } from './read-server.ts';
import type { ServerRules, ServerSpec } from './server-spec.ts';

export interface ImportedServer {
  /** DNS label, unique among the servers of the file. */
  readonly name: string;
  /** Name in the client's file. */
  readonly original: string;
  readonly spec: ServerSpec;
  readonly warnings: readonly string[];
  readonly rules?: ServerRules;
}

export interface ImportedServers {
  readonly servers: readonly ImportedServer[];
  readonly leftOut: readonly { readonly original: string; readonly reason: string }[];
}

/** Reads the servers of a client's file. A name that is a DNS label already stays as it is. */
export function importedServers(entries: readonly ClientEntry[]): ImportedServers {
  const read = entries.map(({ name, value, leftOut }) => ({
    original: name,
    reading: leftOut === undefined ? readServer(value) : { leftOut },
  }));
  const usable = read.flatMap(({ original, reading }) => ('leftOut' in reading ? [] : { original, ...reading }));
  const taken = new Set(usable.map(({ original }) => original).filter((name) => labelOf(name) === name));
  const servers = usable.map(({ original, server, warnings, rules }): ImportedServer => {
    const label = labelOf(original);
    const name = label === original ? label : freeName(label, (free) => taken.has(free));
    taken.add(name);
    return { name, original, spec: server, warnings, ...(rules && { rules }) };
  });
  const leftOut = read.flatMap(({ original, reading }) =>
    'leftOut' in reading ? { original, reason: reading.leftOut } : [],
  );
  return { servers, leftOut };
}
