import type { VirtualMCPServer } from '../snapshot.ts';
import { childPath } from '../fields/field-path.ts';

const PATH = 'spec.outgoingAuth';

/** Authentication to a backend, as a VirtualMCPServer sets it. */
export interface BackendEntry {
  /** Name of the backend. */
  readonly name: string;
  /** Path of the entry. */
  readonly path: string;
  readonly type: 'discovered' | 'externalAuthConfigRef';
  readonly externalAuthConfigRef?: { readonly name: string };
}

/** Lists the entries of `outgoingAuth` for single backends: those of the map `backends`, or of the list `backendList`. */
export function backendEntries({ spec }: VirtualMCPServer): BackendEntry[] {
  const { backends = {}, backendList = [] } = spec.outgoingAuth ?? {};
  return [
    ...Object.entries(backends).map(([name, entry]) => ({ ...entry, name, path: childPath(`${PATH}.backends`, name) })),
    ...backendList.map((entry, index) => ({ ...entry, path: `${PATH}.backendList[${String(index)}]` })),
  ];
}

/** Returns the entry for a backend; undefined when the VirtualMCPServer does not name it. */
export const backendEntry = (name: string, vmcp: VirtualMCPServer): BackendEntry | undefined =>
  backendEntries(vmcp).find((entry) => entry.name === name);
