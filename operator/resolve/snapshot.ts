import type { MCPExternalAuthConfig } from '../../crds/kinds/mcp-external-auth-config.ts';
import type { MCPGroup } from '../../crds/kinds/mcp-group.ts';
import type { MCPOIDCConfig } from '../../crds/kinds/mcp-oidc-config.ts';
import type { MCPServer } from '../../crds/kinds/mcp-server.ts';
import type { MCPServerEntry } from '../../crds/kinds/mcp-server-entry.ts';
import type { VirtualMCPServer } from '../../crds/kinds/virtual-mcp-server.ts';

export type { MCPExternalAuthConfig, MCPGroup, MCPOIDCConfig, MCPServer, MCPServerEntry, VirtualMCPServer };

/** The objects of our own kinds, valid by their schema and with its defaults filled in. */
export type Resource = VirtualMCPServer | MCPServer | MCPServerEntry | MCPGroup | MCPOIDCConfig | MCPExternalAuthConfig;

/** A Secret as `resolve` may see it: which keys there are, never a value. */
export interface SecretMeta {
  readonly name: string;
  readonly keys: readonly string[];
  /** Hosts that entries may send its values to, by its annotation. */
  readonly allowedHosts?: readonly string[];
  /** Changes whenever a value does; absent where nobody counts. */
  readonly version?: string;
}

export interface ConfigMapData {
  readonly name: string;
  readonly data: Readonly<Record<string, string>>;
}

/** An object that is there but was refused; what refers to it cannot work, and the reason is reported elsewhere. */
export interface BrokenObject {
  readonly kind: string;
  readonly name: string;
  /** The group it says it belongs to. */
  readonly group?: string;
}

type ByName<T> = ReadonlyMap<string, T>;

/** Everything one namespace holds, as plain data, each map in the order of names. */
export interface Snapshot {
  readonly namespace: string;
  readonly vmcps: ByName<VirtualMCPServer>;
  readonly groups: ByName<MCPGroup>;
  readonly servers: ByName<MCPServer>;
  readonly entries: ByName<MCPServerEntry>;
  readonly oidcConfigs: ByName<MCPOIDCConfig>;
  readonly externalAuthConfigs: ByName<MCPExternalAuthConfig>;
  readonly secrets: ByName<SecretMeta>;
  readonly configMaps: ByName<ConfigMapData>;
  /** By `Kind/name`. */
  readonly broken: ByName<BrokenObject>;
}

export interface SnapshotContents {
  readonly resources?: readonly Resource[];
  readonly secrets?: readonly SecretMeta[];
  readonly configMaps?: readonly ConfigMapData[];
  readonly broken?: readonly BrokenObject[];
}

/** Indexes and sorts the objects of one namespace; of two with one name the first stands. */
export function newSnapshot(namespace: string, contents: SnapshotContents): Snapshot {
  const { resources = [], secrets = [], configMaps = [], broken = [] } = contents;
  const ofKind = <K extends Resource['kind']>(kind: K) =>
    byName(
      resources.filter((resource): resource is Extract<Resource, { kind: K }> => resource.kind === kind),
      ({ metadata }) => metadata.name,
    );
  return {
    namespace,
    vmcps: ofKind('VirtualMCPServer'),
    groups: ofKind('MCPGroup'),
    servers: ofKind('MCPServer'),
    entries: ofKind('MCPServerEntry'),
    oidcConfigs: ofKind('MCPOIDCConfig'),
    externalAuthConfigs: ofKind('MCPExternalAuthConfig'),
    secrets: byName(secrets, ({ name }) => name),
    configMaps: byName(configMaps, ({ name }) => name),
    broken: byName(broken, ({ kind, name }) => `${kind}/${name}`),
  };
}

/** The backends of a group by name; MCPServers before MCPServerEntries of the same name. */
export function members(snapshot: Snapshot, group: string): (MCPServer | MCPServerEntry)[] {
  return [...snapshot.servers.values(), ...snapshot.entries.values()]
    .filter(({ spec }) => spec.groupRef?.name === group)
    .toSorted((a, b) => compareText(a.metadata.name, b.metadata.name));
}

/** Code unit order: the same on every machine, whatever its locale. */
export const compareText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

function byName<T>(items: readonly T[], nameOf: (item: T) => string): ByName<T> {
  const map = new Map<string, T>();
  for (const item of items.toSorted((a, b) => compareText(nameOf(a), nameOf(b)))) {
    if (!map.has(nameOf(item))) map.set(nameOf(item), item);
  }
  return map;
}
