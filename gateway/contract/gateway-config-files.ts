import type { GatewayConfig } from './gateway-config.ts';
import type { PrivateKeyJwtConfig } from './run-config/private-key-jwt.ts';
import type { Problem } from './problem.ts';

/** A file that a configuration names. */
export interface ConfigFile {
  /** JSON path of the member that names it. */
  readonly path: string;
  readonly file: string;
  /** Configured algorithm of a private key. */
  readonly algorithm?: string | undefined;
}

/** Lists the files that the gateway reads for its clients and backends. */
export const configFiles = (config: GatewayConfig): ConfigFile[] => [
  ...oidcFiles(config),
  ...backendFiles(config),
  ...credentialFiles(config),
  ...authServerFiles(config),
  ...nestedFiles('scaling_config.session_kvstore', config.scaling_config?.session_kvstore),
  ...telemetryFiles(config),
  ...auditFiles(config),
  ...webhookFiles(config),
];

const auditFiles = ({ audit_config_path: file }: GatewayConfig): ConfigFile[] =>
  file === undefined ? [] : [{ path: 'audit_config_path', file }];

const OIDC_MEMBERS = ['clientSecretFile', 'authTokenFile', 'cacertPath'] as const;

const oidcFiles = ({ oidc_config: oidc }: GatewayConfig): ConfigFile[] =>
  OIDC_MEMBERS.flatMap((member) => {
    const file = oidc?.[member];
    return file === undefined ? [] : [{ path: `oidc_config.${member}`, file }];
  }).concat(clientKeyFiles('oidc_config', oidc));

const backendFiles = ({ vmcp }: GatewayConfig): ConfigFile[] =>
  vmcp.backends.flatMap(({ ca_bundle_file: bundle, header_forward: forward, process }, index) => {
    const path = `vmcp.backends[${String(index)}]`;
    return [
      ...(bundle === undefined ? [] : [{ path: `${path}.ca_bundle_file`, file: bundle }]),
      ...byName(`${path}.header_forward.add_headers_from_file`, forward?.add_headers_from_file),
      ...byName(`${path}.process.env_var_files`, process?.env_var_files),
    ];
  });

/** Lists files of any strategy: members that name a file end in `_file`. */
const credentialFiles = ({ vmcp }: GatewayConfig): ConfigFile[] =>
  Object.entries(vmcp.outgoing_auth ?? {}).flatMap(([backend, entry]) => {
    const path = `vmcp.outgoing_auth.${backend}`;
    return [...filesOf(path, entry), ...clientKeyFiles(path, entry as Client)];
  });

/** Member of every client of a provider that authenticates with a private key. */
const CLIENT_KEY = 'private_key_jwt';

/** Returns true for the path of a private key with which the gateway authenticates as a client. */
export const isClientKey = (path: string): boolean => path.endsWith(`.${CLIENT_KEY}.private_key_file`);

interface Client {
  readonly [CLIENT_KEY]?: PrivateKeyJwtConfig | undefined;
}

/** Lists the private key with which a client authenticates. */
const clientKeyFiles = (path: string, { [CLIENT_KEY]: key }: Client = {}): ConfigFile[] =>
  key === undefined
    ? []
    : [{ path: `${path}.${CLIENT_KEY}.private_key_file`, file: key.private_key_file, algorithm: key.algorithm }];

const telemetryFiles = ({ telemetry_config: telemetry }: GatewayConfig): ConfigFile[] => {
  const { caCertPath: bundle, headerFiles } = telemetry ?? {};
  const path = 'telemetry_config';
  return [
    ...(bundle === undefined ? [] : [{ path: `${path}.caCertPath`, file: bundle }]),
    ...byName(`${path}.headerFiles`, headerFiles),
  ];
};

const AUTH_SERVER = 'embedded_auth_server_config';

const authServerFiles = ({ embedded_auth_server_config: server }: GatewayConfig): ConfigFile[] => [
  ...keyFiles(server?.signing_key_config),
  ...(server?.hmac_secret_files ?? []).map((file, index) => ({
    path: `${AUTH_SERVER}.hmac_secret_files[${String(index)}]`,
    file,
  })),
  ...(server?.upstreams ?? []).flatMap((upstream, index) =>
    (['oauth2_config', 'oidc_config'] as const).flatMap((block) => {
      const path = `${AUTH_SERVER}.upstreams[${String(index)}].${block}`;
      const { dcr_config: registration } = upstream[block] ?? {};
      return [
        ...filesOf(path, upstream[block]),
        ...filesOf(`${path}.dcr_config`, registration),
        ...clientKeyFiles(path, upstream[block]),
      ];
    }),
  ),
  ...(server?.delegate_clients ?? []).flatMap((client, index) =>
    filesOf(`${AUTH_SERVER}.delegate_clients[${String(index)}]`, client),
  ),
  ...nestedFiles(`${AUTH_SERVER}.storage`, server?.storage),
];

const keyFiles = (
  keys: NonNullable<GatewayConfig['embedded_auth_server_config']>['signing_key_config'],
): ConfigFile[] => {
  const { key_dir: folder = '', signing_key_file: first, fallback_key_files: others = [] } = keys ?? {};
  const path = `${AUTH_SERVER}.signing_key_config`;
  const of = (member: string, name: string): ConfigFile => ({ path: `${path}.${member}`, file: `${folder}/${name}` });
  return [
    ...(first === undefined ? [] : [of('signing_key_file', first)]),
    ...others.map((name, index) => of(`fallback_key_files[${String(index)}]`, name)),
  ];
};

const filesOf = (path: string, holder: object = {}): ConfigFile[] =>
  Object.entries(holder)
    .filter((member): member is [string, string] => member[0].endsWith('_file') && typeof member[1] === 'string')
    .map(([member, file]) => ({ path: `${path}.${member}`, file }));

/** Lists files of an object and its nested objects, for any store. */
const nestedFiles = (path: string, holder: object = {}): ConfigFile[] => [
  ...filesOf(path, holder),
  ...Object.entries(holder).flatMap(([member, value]: [string, unknown]) =>
    typeof value === 'object' && value !== null ? nestedFiles(`${path}.${member}`, value) : [],
  ),
];

const byName = (path: string, files: Readonly<Record<string, string>> = {}): ConfigFile[] =>
  Object.entries(files).map(([name, file]) => ({ path: `${path}.${name}`, file }));

const webhookFiles = (config: GatewayConfig): ConfigFile[] =>
  (['mutating_webhooks', 'validating_webhooks'] as const).flatMap((list) =>
    (config[list] ?? []).flatMap(({ hmac_secret_ref: key, tls_config: tls = {} }, index) => {
      const path = `${list}[${String(index)}]`;
      const certificates = (['ca_bundle_path', 'client_cert_path', 'client_key_path'] as const).flatMap((member) => {
        const file = tls[member];
        return file === undefined ? [] : [{ path: `${path}.tls_config.${member}`, file }];
      });
      return [...(key === undefined ? [] : [{ path: `${path}.hmac_secret_ref`, file: key }]), ...certificates];
    }),
  );

/** Folders of a pod that hold keys of Secrets and ConfigMaps, each at `<object>/<key>`. */
export const MOUNTED_SECRETS = '/etc/vmcp/secrets';
export const MOUNTED_CONFIG_MAPS = '/etc/vmcp/configmaps';

/** Folders of a pod that a configuration may name files in. The last is for volumes of `podTemplateSpec`. */
export const MOUNTED_FOLDERS: readonly string[] = [MOUNTED_SECRETS, MOUNTED_CONFIG_MAPS, '/etc/vmcp/tokens'];

/** Reason of a path outside of these folders. */
export const PATH_NOT_MOUNTED = 'PathNotMounted';

/** Returns true for a plain path below one of the folders: no `..`, nothing that a file system would read otherwise. */
export const isBelow = (file: string, folders: readonly string[]): boolean =>
  folders.some((folder) => file.startsWith(`${folder}/`)) &&
  file
    .split('/')
    .slice(1)
    .every((part) => part !== '' && part !== '.' && part !== '..');

export const foldersOf = ({ vmcp }: GatewayConfig): readonly string[] =>
  vmcp.cluster?.mounted_folders ?? MOUNTED_FOLDERS;

export const notMounted = (file: string, folders: readonly string[]): string =>
  `${file} is not in ${folders.join(', ')}: a gateway in a pod reads no other files`;

/** Lists configured files outside of the mounted folders of a pod. */
export function mountProblems(config: GatewayConfig): Problem[] {
  if (!config.vmcp.cluster) return [];
  const folders = foldersOf(config);
  return configFiles(config)
    .filter(({ file }) => !isBelow(file, folders))
    .map(({ path, file }) => ({ reason: PATH_NOT_MOUNTED, path, message: notMounted(file, folders) }));
}

/** Backends of a document that pods follow: they are called at an address, so that the document starts nothing. */
export const startedBackends = ({ vmcp }: GatewayConfig): Problem[] =>
  vmcp.backends.flatMap(({ process, attach }, index) =>
    (['process', 'attach'] as const)
      .filter((member) => ({ process, attach })[member] !== undefined)
      .map((member) => ({
        reason: 'RuleViolated',
        path: `vmcp.backends[${String(index)}].${member}`,
        message: 'a gateway in a pod starts no servers and attaches to none: give the backend a url',
      })),
  );
