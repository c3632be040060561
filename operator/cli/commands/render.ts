import { defineCommand, PATHS, secretsDirOption } from './command.ts';

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
      .action(async (paths: string[], flags: { name?: string; secretsDir?: string }) => {
        const { render } = await import('../validate/render.ts');
        process.exitCode = await render(paths, { ...flags, hostEnv: process.env }, process);
      }),
);
