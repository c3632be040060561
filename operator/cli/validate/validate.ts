import { examine } from './examine.ts';
import { count, formatProblems, summarize, type Io } from './problems-output.ts';

export interface ValidateOptions {
  readonly secretsDir?: string;
}

/** Any folder: rendered paths are not printed. */
const NO_STATE = '/';

/** `vmcp validate PATH...`: prints problems on stdout and warnings on stderr; exits with 0 without problems, else 2. */
export async function validate(paths: readonly string[], options: ValidateOptions, io: Io): Promise<number> {
  const { servers, problems, warnings } = await examine(paths, options, NO_STATE);
  io.stdout.write(formatProblems(problems, []));
  io.stderr.write(formatProblems([], warnings));
  if (problems.length > 0) {
    io.stderr.write(`${summarize(problems, warnings)}\n`);
    return 2;
  }
  const backends = servers.reduce((sum, { config }) => sum + (config?.vmcp.backends.length ?? 0), 0);
  io.stdout.write(`ok: ${count(servers.length, 'VirtualMCPServer')}, ${count(backends, 'backend')}\n`);
  if (servers.length === 0) io.stderr.write('there is no VirtualMCPServer: vmcp up would start nothing\n');
  if (warnings.length > 0) io.stderr.write(`${count(warnings.length, 'warning')}\n`);
  return 0;
}
