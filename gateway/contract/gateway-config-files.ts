import type { GatewayConfig } from './gateway-config.ts';

/** A file that a configuration names. */
export interface ConfigFile {
  /** JSON path of the member that names it. */
  readonly path: string;
  readonly file: string;
}

/** Every file that the gateway reads for its callers and its backends. */
export const configFiles = (config: GatewayConfig): ConfigFile[] => [
  ...oidcFiles(config),
  ...backendFiles(config),
  ...credentialFiles(config),
];

const OIDC_MEMBERS = ['clientSecretFile', 'authTokenFile', 'cacertPath'] as const;

const oidcFiles = ({ oidc_config: oidc }: GatewayConfig): ConfigFile[] =>
  OIDC_MEMBERS.flatMap((member) => {
    const file = oidc?.[member];
    return file === undefined ? [] : [{ path: `oidc_config.${member}`, file }];
  });

const backendFiles = ({ vmcp }: GatewayConfig): ConfigFile[] =>
  vmcp.backends.flatMap(({ ca_bundle_file: bundle, header_forward: forward, process }, index) => {
    const path = `vmcp.backends[${String(index)}]`;
    return [
      ...(bundle === undefined ? [] : [{ path: `${path}.ca_bundle_file`, file: bundle }]),
      ...byName(`${path}.header_forward.add_headers_from_file`, forward?.add_headers_from_file),
      ...byName(`${path}.process.env_var_files`, process?.env_var_files),
    ];
  });

/** Whatever the strategy: a member that names a file ends in `_file`. */
const credentialFiles = ({ vmcp }: GatewayConfig): ConfigFile[] =>
  Object.entries(vmcp.outgoing_auth ?? {}).flatMap(([backend, entry]) =>
    Object.entries(entry)
      .filter((member): member is [string, string] => member[0].endsWith('_file') && typeof member[1] === 'string')
      .map(([member, file]) => ({ path: `vmcp.outgoing_auth.${backend}.${member}`, file })),
  );

const byName = (path: string, files: Readonly<Record<string, string>> = {}): ConfigFile[] =>
  Object.entries(files).map(([name, file]) => ({ path: `${path}.${name}`, file }));
