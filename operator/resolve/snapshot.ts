import type { MCPAuthzConfig } from '../../crds/kinds/mcp-authz-config.ts';
import type { MCPExternalAuthConfig } from '../../crds/kinds/mcp-external-auth-config.ts';
import type { MCPOIDCConfig } from '../../crds/kinds/mcp-oidc-config.ts';
import type { MCPServer } from '../../crds/kinds/mcp-server.ts';
import type { MCPServerEntry } from '../../crds/kinds/mcp-server-entry.ts';
import type { MCPTelemetryConfig } from '../../crds/kinds/mcp-telemetry-config.ts';
import type { MCPToolConfig } from '../../crds/kinds/mcp-tool-config.ts';
import type { MCPWebhookConfig } from '../../crds/kinds/mcp-webhook-config.ts';
import type { VirtualMCPServer } from '../../crds/kinds/virtual-mcp-server.ts';
import { KINDS } from '../../crds/kinds/index.ts';
import type { ObjectOf } from '../../crds/kinds/schema/kind.ts';

export type {
  MCPAuthzConfig,
  MCPExternalAuthConfig,
  MCPOIDCConfig,
  MCPServer,
  MCPServerEntry,
  MCPTelemetryConfig,
  MCPToolConfig,
  MCPWebhookConfig,
  VirtualMCPServer,
};

type OwnKind = (typeof KINDS)[number];

/** The objects of our own kinds, valid by their schema and with its defaults filled in. */
export type Resource = ObjectOf<OwnKind>;

/** Secret as `resolve` sees it: the names of its keys, never a value. */
export interface SecretMeta {
  readonly name: string;
  readonly keys: readonly string[];
  /** Hosts to which entries may send its values, from its annotation. */
  readonly allowedHosts?: readonly string[];
  /** Changes whenever a value changes; absent in local mode. */
  readonly version?: string;
}

/** Host variables of one MCPServer in local mode: the names of those that are set, never a value. */
export interface HostVariables {
  /** Name of the MCPServer. */
  readonly server: string;
  readonly names: readonly string[];
  /** File beside the manifest in which a missing variable can be set. It need not exist. */
  readonly envFile: string;
}

export interface ConfigMapData {
  readonly name: string;
  readonly data: Readonly<Record<string, string>>;
}

/** Object that was rejected. Objects that refer to it cannot work; its own problems are reported elsewhere. */
export interface BrokenObject {
  readonly kind: string;
  readonly name: string;
  /** Group that the object names. */
  readonly group?: string;
}

type ByName<T> = ReadonlyMap<string, T>;

/** One map for each kind, under the name that the kind declares as its `collection`. */
type Collections = { readonly [K in OwnKind as K['collection']]: ByName<ObjectOf<K>> };

/** Objects of one namespace as plain data. Each map is sorted by name. */
export interface Snapshot extends Collections {
  readonly namespace: string;
  readonly secrets: ByName<SecretMeta>;
  readonly configMaps: ByName<ConfigMapData>;
  /** By name of the MCPServer; empty in a cluster. */
  readonly hostVariables: ByName<HostVariables>;
  /** By `Kind/name`. */
  readonly broken: ByName<BrokenObject>;
}

export interface SnapshotContents {
  readonly resources?: readonly Resource[];
  readonly secrets?: readonly SecretMeta[];
  readonly configMaps?: readonly ConfigMapData[];
  readonly hostVariables?: readonly HostVariables[];
  readonly broken?: readonly BrokenObject[];
}

/** Returns the maps of every kind, each as `mapOf` returns it. */
export const collections = (mapOf: (kind: Resource['kind']) => ByName<Resource>): Collections =>
  Object.fromEntries(KINDS.map(({ kind, collection }) => [collection, mapOf(kind)])) as unknown as Collections;

/** Returns the objects of one kind, or of every kind, sorted by name within a kind. */
export const objectsOf = (snapshot: Snapshot, kind?: Resource['kind']): Resource[] =>
  KINDS.filter((each) => kind === undefined || each.kind === kind).flatMap(({ collection }): Resource[] => [
    ...snapshot[collection].values(),
  ]);

/** Indexes and sorts the objects of one namespace. Of two objects with one name the first is kept. */
export function newSnapshot(namespace: string, contents: SnapshotContents): Snapshot {
  const { resources = [], secrets = [], configMaps = [], hostVariables = [], broken = [] } = contents;
  return {
    namespace,
    ...collections((kind) =>
      byName(
        resources.filter((resource) => resource.kind === kind),
        ({ metadata }) => metadata.name,
      ),
    ),
    secrets: byName(secrets, ({ name }) => name),
    configMaps: byName(configMaps, ({ name }) => name),
    hostVariables: byName(hostVariables, ({ server }) => server),
    broken: byName(broken, ({ kind, name }) => `${kind}/${name}`),
  };
}

/** Lists the backends of a group by name, MCPServers before MCPServerEntries of the same name. */
export function members(snapshot: Snapshot, group: string): (MCPServer | MCPServerEntry)[] {
  return [...snapshot.servers.values(), ...snapshot.entries.values()]
    .filter(({ spec }) => spec.groupRef?.name === group)
    .toSorted((a, b) => compareText(a.metadata.name, b.metadata.name));
}

/** Compares by code units, independent of the locale. */
export const compareText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

function byName<T>(items: readonly T[], nameOf: (item: T) => string): ByName<T> {
  const map = new Map<string, T>();
  for (const item of items.toSorted((a, b) => compareText(nameOf(a), nameOf(b)))) {
    if (!map.has(nameOf(item))) map.set(nameOf(item), item);
  }
  return map;
}
