import { realpathSync } from 'node:fs';
import { basename } from 'node:path';
import { RELAY_PATHS, RELAY_PROGRAM } from './program.ts';

/** Files of the program that executes this process: Node, its dynamic loader and its libraries. */
export interface ProgramFiles {
  readonly node: string;
  /** Absent for a static program. */
  readonly loader?: string;
  readonly libraries: readonly string[];
}

/** Port of the outbound proxy in an isolated network. */
const PROXY_PORT = 3128;

/** Returns a port for the outbound proxy that the server does not use. */
export const proxyPortBeside = (ports: readonly number[]): number => {
  let port = PROXY_PORT;
  while (ports.includes(port)) port += 1;
  return port;
};

/** Returns the environment by which programs in the isolated network find the proxy. */
export function proxyEnvironment(port: number): Record<string, string> {
  const proxy = `http://127.0.0.1:${port}`;
  const variables = { HTTP_PROXY: proxy, HTTPS_PROXY: proxy, NO_PROXY: 'localhost,127.0.0.1,::1' };
  const lower = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name.toLowerCase(), value]));
  return { ...variables, ...lower, NODE_USE_ENV_PROXY: '1' };
}

/** Variables of the image that would change how the relay starts. */
export const RELAY_ENVIRONMENT = { LD_AUDIT: '', LD_PRELOAD: '', NODE_OPTIONS: '' } as const;

/**
 * Returns the arguments of `run` for the relay, after its name. It runs in the image of the server, of which it executes
 * nothing: its program is mounted. So nothing is pulled or built.
 */
export function relayArguments(options: {
  readonly image: string;
  readonly files: ProgramFiles;
  readonly socketDir: string;
  /** Port of the proxy; 0 for none; `probe` to end after the first connection. */
  readonly mode: number | 'probe';
  readonly labels: readonly string[];
}): string[] {
  const { image, files, socketDir, mode, labels } = options;
  const inside = (path: string): string => `${RELAY_PATHS.program}/${basename(path)}`;
  const mounts = [files.node, ...(files.loader === undefined ? [] : [files.loader]), ...files.libraries];
  const start =
    files.loader === undefined
      ? { entrypoint: inside(files.node), args: [] }
      : { entrypoint: inside(files.loader), args: ['--library-path', RELAY_PATHS.program, inside(files.node)] };
  return [
    ...['--rm', '--pull', 'never', '--network', 'none', '--user', '0:0', '--read-only', '--cap-drop', 'ALL'],
    ...['--security-opt', 'no-new-privileges', '--security-opt', 'label=disable', '--no-healthcheck'],
    ...['--workdir', '/', ...labels.flatMap((label) => ['--label', label])],
    ...mounts.flatMap((path) => ['-v', `${realpathSync(path)}:${inside(path)}:ro`]),
    ...['-v', `${socketDir}:${RELAY_PATHS.sockets}:ro`, '--entrypoint', start.entrypoint],
    ...['--', image, ...start.args, '-e', RELAY_PROGRAM, String(mode)],
  ];
}

let found: ProgramFiles | undefined;

/** Returns the files of this process's program, from its diagnostic report. */
export function programFiles(): ProgramFiles {
  found ??= readProgramFiles();
  return found;
}

/** Members of Node's diagnostic report that its types lack. */
interface Report {
  excludeNetwork: boolean;
  getReport(): { readonly sharedObjects: readonly string[] };
}

function readProgramFiles(): ProgramFiles {
  const report = process.report as unknown as Report;
  const { excludeNetwork } = report;
  report.excludeNetwork = true; // it would resolve the peers of all sockets
  const { sharedObjects } = report.getReport();
  report.excludeNetwork = excludeNetwork;
  const libraries = sharedObjects.filter((path) => /^\/.*\.so(\.[\d.]+)?$/u.test(path));
  const loader = libraries.find((path) => /^ld-(linux|musl)/u.test(basename(path)));
  return {
    node: process.execPath,
    ...(loader !== undefined && { loader }),
    libraries: libraries.filter((path) => path !== loader),
  };
}
