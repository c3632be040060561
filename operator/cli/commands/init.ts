import { DEFAULT_DIR, defineCommand, outputOption } from './command.ts';

export const initCommand = defineCommand(
  {
    name: 'init',
    does: 'write a folder with an endpoint and one server to start from',
    example: 'vmcp init && vmcp up vmcp',
  },
  (command) =>
    command
      .argument('[dir]', 'folder without resources', DEFAULT_DIR)
      .addOption(outputOption())
      .action(async (dir: string, flags: { output?: 'json' }) => {
        const { init } = await import('../edit/init.ts');
        process.exitCode = await init(dir, flags, process);
      }),
);
