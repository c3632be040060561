import { stringify } from 'yaml';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly stringData?: Readonly<Record<string, string>>;
  readonly data?: Readonly<Record<string, string>>;
}

type Fields = Readonly<Record<string, unknown>>;

export const GROUP = 'fixtures';

export const resource = (kind: string, name: string, spec?: Fields): Manifest => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind,
  metadata: { name },
  ...(spec && { spec }),
});

export const group = (name = GROUP): Manifest => resource('MCPGroup', name);

/** Returns an anonymous VirtualMCPServer; `config` is `spec.config`. */
export const virtualServer = (
  config: Fields = {},
  { name = 'gateway', groupName = GROUP, ...spec }: Fields = {},
): Manifest =>
  resource('VirtualMCPServer', String(name), {
    groupRef: { name: groupName },
    incomingAuth: { type: 'anonymous' },
    ...(Object.keys(config).length > 0 && { config }),
    ...spec,
  });

/** Returns an entry for a backend that already runs. */
export const entry = (name: string, remoteUrl: string, transport = 'streamable-http', spec: Fields = {}): Manifest =>
  resource('MCPServerEntry', name, { groupRef: { name: GROUP }, remoteUrl, transport, ...spec });

/** Returns a server that vmcp starts. */
export const server = (name: string, image: string, spec: Fields = {}): Manifest =>
  resource('MCPServer', name, { groupRef: { name: GROUP }, image, transport: 'stdio', ...spec });

export const secret = (name: string, stringData: Readonly<Record<string, string>>): Manifest => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  stringData,
});

export const configMap = (name: string, data: Readonly<Record<string, string>>): Manifest => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});

/** Joins documents into one YAML text. */
export const yaml = (...manifests: readonly Manifest[]): string =>
  manifests.map((manifest) => stringify(manifest)).join('---\n');

/** Returns the files of one group, one anonymous VirtualMCPServer and these backends. */
export const gatewayOver = (backends: readonly Manifest[], config: Fields = {}): Record<string, string> => ({
  'gateway.yaml': yaml(group(), virtualServer(config), ...backends),
});
