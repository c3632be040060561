import { realpathSync } from 'node:fs';
import { basename, join } from 'node:path';
import { EMPTY_FILE, RELAY_PATHS, RELAY_PROGRAM } from './program.ts';

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

/** Replaces the variables of the image by which its files or settings would take part in the relay. */
export const RELAY_ENVIRONMENT = {
  GCONV_PATH: '',
  GLIBC_TUNABLES: '',
  LC_ALL: 'C',
  LD_AUDIT: '',
  LD_LIBRARY_PATH: '',
  LD_PRELOAD: '',
  LOCPATH: '',
  NODE_CHANNEL_FD: '',
  NODE_COMPILE_CACHE: '',
  NODE_EXTRA_CA_CERTS: '',
  NODE_ICU_DATA: '',
  NODE_OPTIONS: '',
  NODE_PATH: '',
  NODE_REDIRECT_WARNINGS: '',
  NODE_V8_COVERAGE: '',
  OPENSSL_CONF: '/dev/null',
} as const;

/** Files of the image that the dynamic loader and OpenSSL obey in every process. An empty file replaces each. */
const OBEYED_FILES = ['/etc/ld.so.preload', '/etc/ssl/openssl.cnf'];
/** `--inhibit-cache`: the libraries of the image are none of the relay. Loaders of musl have neither the cache nor the option. */
const loaderOptions = (loader: string): string[] =>
  basename(loader).startsWith('ld-linux') ? ['--inhibit-cache'] : [];
/** Options of Node.js: no file of the image configures OpenSSL. */
const NODE_OPTIONS = ['--openssl-config=/dev/null', '--no-addons'];

/**
 * Returns the arguments of `run` for the relay, after its name. It runs in the image of the server, of which it executes
 * nothing: its program is mounted, in a folder whose name the image cannot know. So nothing is pulled or built.
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
  // the loader also searches folders below it, such as glibc-hwcaps
  const program = `${RELAY_PATHS.program}/${basename(socketDir)}`;
  const inside = (path: string): string => `${program}/${basename(path)}`;
  const mounts = [files.node, ...(files.loader === undefined ? [] : [files.loader]), ...files.libraries];
  const node = [...NODE_OPTIONS, '-e', RELAY_PROGRAM, String(mode)];
  const start =
    files.loader === undefined
      ? { entrypoint: inside(files.node), args: node }
      : {
          entrypoint: inside(files.loader),
          args: [...loaderOptions(files.loader), '--library-path', program, inside(files.node), ...node],
        };
  return [
    ...['--rm', '--pull', 'never', '--network', 'none', '--user', '0:0', '--read-only', '--cap-drop', 'ALL'],
    ...['--security-opt', 'no-new-privileges', '--security-opt', 'label=disable', '--no-healthcheck'],
    ...['--workdir', '/', ...labels.flatMap((label) => ['--label', label])],
    ...OBEYED_FILES.flatMap((path) => ['-v', `${join(socketDir, EMPTY_FILE)}:${path}:ro`]),
    ...mounts.flatMap((path) => ['-v', `${realpathSync(path)}:${inside(path)}:ro`]),
    ...['-v', `${socketDir}:${RELAY_PATHS.sockets}:ro`, '--entrypoint', start.entrypoint],
    ...['--', image, ...start.args],
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
