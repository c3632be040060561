import type { GatewayConfig } from './gateway-config.ts';

/** A file that a configuration names. */
export interface ConfigFile {
  /** JSON path of the member that names it. */
  readonly path: string;
  readonly file: string;
}

/** Every file that the gateway reads for its backends. */
export const configFiles = ({ vmcp }: GatewayConfig): ConfigFile[] =>
  vmcp.backends.flatMap(({ ca_bundle_file: bundle, header_forward: forward, process }, index) => {
    const path = `vmcp.backends[${String(index)}]`;
    return [
      ...(bundle === undefined ? [] : [{ path: `${path}.ca_bundle_file`, file: bundle }]),
      ...byName(`${path}.header_forward.add_headers_from_file`, forward?.add_headers_from_file),
      ...byName(`${path}.process.env_var_files`, process?.env_var_files),
    ];
  });

const byName = (path: string, files: Readonly<Record<string, string>> = {}): ConfigFile[] =>
  Object.entries(files).map(([name, file]) => ({ path: `${path}.${name}`, file }));
