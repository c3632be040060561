import { Option } from 'commander';
import type { DoctorFlags } from '../doctor/doctor.ts';
import { defineCommand, outputOption, PATHS, stateOption, secretsDirOption } from './command.ts';
import type { ValidateOptions } from '../validate/validate.ts';
import type { RenderFormat } from '../validate/render.ts';
import type { ExplainOptions } from '../validate/explain.ts';

export const doctorCommand = defineCommand(
  {
    name: 'doctor',
    does: 'check this machine, and the servers and issuers in these files; each line says how to fix it',
    example: 'vmcp doctor manifests/',
    network: true,
  },
  (command) =>
    command
      .argument('[paths...]', PATHS[1])
      .addOption(stateOption())
      .addOption(outputOption())
      .action(async (paths: string[], flags: DoctorFlags) => {
        const { doctor } = await import('../doctor/doctor.ts');
        process.exitCode = await doctor(paths, flags);
      }),
);

export const validateCommand = defineCommand(
  {
    name: 'validate',
    does: 'print every problem as file:line: Kind/name: path: message [Reason]',
    example: 'vmcp validate --cluster manifests/ --output json',
    network: true,
  },
  (command) =>
    command
      .argument(...PATHS)
      .addOption(
        new Option(
          '--cluster',
          'check what a cluster would accept: its admission, the operator and the pod templates (needs no cluster)',
        ).conflicts('secretsDir'),
      )
      .option('--online', 'check also that packages, images, URLs and issuers exist')
      .addOption(secretsDirOption())
      .addOption(outputOption())
      .action(async (paths: string[], flags: ValidateOptions) => {
        const { validate } = await import('../validate/validate.ts');
        process.exitCode = await validate(paths, { ...flags, hostEnv: process.env }, process);
      }),
);

const FORMATS: readonly RenderFormat[] = ['json', 'yaml'];

export const renderCommand = defineCommand(
  {
    name: 'render',
    does: 'print the configuration of a VirtualMCPServer, without secret values',
    example: 'vmcp render manifests/ --name tools',
  },
  (command) =>
    command
      .argument(...PATHS)
      .option('--name <name>', 'VirtualMCPServer to render, when there are several')
      .addOption(secretsDirOption())
      .addOption(
        new Option('-o, --output <format>', 'format; vmcp gateway reads json').choices(FORMATS).default('json'),
      )
      .action(async (paths: string[], flags: { name?: string; secretsDir?: string; output: RenderFormat }) => {
        const { render } = await import('../validate/render.ts');
        process.exitCode = await render(paths, { ...flags, hostEnv: process.env }, process);
      }),
);

export const explainCommand = defineCommand(
  {
    name: 'explain',
    does: 'print which tools a user may call, and by which policy',
    example: "vmcp explain examples/authorization --as 'sub=alice,groups=admins|ops'",
    network: true,
  },
  (command) =>
    command
      .argument('<paths...>', `${PATHS[1]}; then the name of a tool, to explain only that one`)
      .requiredOption('--as <claims>', 'claims of the user: NAME=VALUE,..., with | between the values of a list')
      .option('--arguments <json>', 'arguments of the call, for policies that read them')
      .option('--name <name>', 'VirtualMCPServer to explain, when there are several')
      .addOption(secretsDirOption())
      .addOption(stateOption())
      .addOption(outputOption())
      .action(async (paths: string[], flags: Omit<ExplainOptions, 'hostEnv'>) => {
        const { explain } = await import('../validate/explain.ts');
        process.exitCode = await explain(paths, { ...flags, hostEnv: process.env }, process);
      }),
);
