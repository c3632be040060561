import { imageScheme, type ImageScheme } from '../../resolve/backends/images.ts';
import type { ServerSpec } from '../../source/clients/server-spec.ts';
import type { Check, Programs } from '../doctor/check.ts';
import { containerEngine } from '../doctor/checks/container-engine.ts';
import { npm } from '../doctor/checks/npm.ts';
import { python } from '../doctor/checks/python.ts';
import { ownCommandLine } from '../own-command.ts';

/** Checks of the programs that start a server, by the form of its image. */
const NEEDS: Readonly<Record<Exclude<ImageScheme, 'command'>, Check<Programs>>> = {
  npx: npm,
  uvx: python,
  oci: containerEngine,
};

interface NamedServer {
  readonly name: string;
  readonly spec: ServerSpec;
}

/** Returns a line for each program that is missing on this machine, with the servers that need it. */
export async function unmetNeeds(servers: readonly NamedServer[], programs: Programs): Promise<string[]> {
  const schemes = Map.groupBy(servers, ({ spec }) => (spec.runs === 'here' ? imageScheme(spec.image) : undefined));
  const lines = [...schemes].map(async ([scheme, needy]) => {
    if (scheme === undefined) return [];
    if (scheme === 'command') return needy.flatMap((server) => missingProgram(server, programs));
    const { state, message } = await NEEDS[scheme].run(programs);
    if (state === 'ok') return [];
    return [`${needy.map(({ name }) => name).join(', ')}: ${message} (check again: ${ownCommandLine('doctor')})`];
  });
  return (await Promise.all(lines)).flat();
}

/** Returns a line for a server whose program is not on PATH. A server with a PATH of its own finds its program there. */
function missingProgram({ name, spec }: NamedServer, { find }: Programs): string[] {
  if (spec.runs !== 'here' || [...spec.env, ...spec.secrets].some((variable) => variable.name === 'PATH')) return [];
  const program = spec.image.replace('command://', '');
  if (program.startsWith('/') || find(program) !== undefined) return [];
  return [`${name}: ${program} is not on PATH: install it, or write its absolute path into ${name}.yaml`];
}
