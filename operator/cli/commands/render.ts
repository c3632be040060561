import { Option } from 'commander';
import { defineCommand, PATHS, secretsDirOption } from './command.ts';
import type { RenderFormat } from '../validate/render.ts';

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
