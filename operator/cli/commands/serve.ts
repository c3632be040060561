import type { ServeFlags } from '../serve/serve.ts';
import { withOriginOptions } from '../origin-flags.ts';
import { defineCommand, port } from './command.ts';

export const serveCommand = defineCommand(
  {
    name: 'serve',
    does: 'run the management API alone',
    example: 'vmcp serve --port 8080',
    logs: true,
    network: true,
  },
  (command) =>
    withOriginOptions(
      command
        .option('--config <file>', 'JSON file: "auth" of every request, "audit" of changes')
        .option('--host <address>', 'listen address; other than loopback requires "auth"', '127.0.0.1')
        .option('--port <port>', 'port of the API', port, 8080)
        .option('--state <dir>', 'folder for groups, secrets and skills (default: $XDG_STATE_HOME/vmcp)'),
    ).action(async (flags: ServeFlags) => {
      const { serve } = await import('../serve/serve.ts');
      process.exitCode = await serve(flags);
    }),
);
