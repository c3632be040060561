import { isDeepStrictEqual } from 'node:util';
import type { ClientEntry, Reading, ServerRules, ServerSpec } from './server-spec.ts';
import { oneLine } from './texts.ts';
import { readServer } from './read-server.ts';

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
  const read = entries.map(({ name, value, project, leftOut }) => ({
    original: name,
    reading: leftOut === undefined ? inProject(readServer(value, project), project) : { leftOut },
  }));
  const usable = withoutCopies(
    read.flatMap(({ original, reading }) => ('leftOut' in reading ? [] : { original, ...reading })),
  );
  const taken = new Set(usable.map(({ original }) => original).filter((name) => labelOf(name) === name));
  const given = new Set<string>();
  const servers = usable.map(({ original, server, warnings, rules }): ImportedServer => {
    const label = labelOf(original);
    const isFree = label === original && !given.has(label);
    const name = isFree ? label : freeName(label, (free) => taken.has(free));
    given.add(name);
    taken.add(name);
    return { name, original, spec: server, warnings, ...(rules && { rules }) };
  });
  const leftOut = read.flatMap(({ original, reading }) =>
    'leftOut' in reading ? { original, reason: reading.leftOut } : [],
  );
  return { servers, leftOut };
}

function inProject(reading: Reading, project: string | undefined): Reading {
  if ('leftOut' in reading || project === undefined) return reading;
  const note = `Claude Code has it in the project ${oneLine(project)} only: every client of vmcp gets it`;
  return { ...reading, warnings: [note, ...reading.warnings] };
}

type Usable = Extract<Reading, { server: unknown }> & { readonly original: string };

/** Removes each server that equals an earlier server of the same name: several projects often have the same server. */
function withoutCopies(servers: readonly Usable[]): Usable[] {
  const kept = new Map<string, Usable[]>();
  return servers.filter((server) => {
    const others = kept.get(server.original) ?? [];
    kept.set(server.original, [...others, server]);
    return !others.some(
      (other) => isDeepStrictEqual(other.server, server.server) && isDeepStrictEqual(other.rules, server.rules),
    );
  });
}

/** Maximum length of the name of a stdio server. */
const MAX_LENGTH = 48;

/** Returns the DNS label that is most similar to a text: `My Server_1` becomes `my-server-1`. */
export function labelOf(text: string): string {
  const plain = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const label = plain
    .replace(/[^a-z0-9]+/gu, '-')
    .replace(/^-/u, '')
    .slice(0, MAX_LENGTH)
    .replace(/-$/u, '');
  return label === '' ? 'server' : label;
}

/** Returns `name`, or `name-2`, `name-3` and so on when it is taken. */
export function freeName(name: string, isTaken: (name: string) => boolean): string {
  let free = name;
  for (let number = 2; isTaken(free); number += 1) {
    const suffix = `-${String(number)}`;
    free = `${name.slice(0, MAX_LENGTH - suffix.length)}${suffix}`;
  }
  return free;
}
