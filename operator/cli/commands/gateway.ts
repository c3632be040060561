import type { GatewayOptions } from '../gateway/gateway.ts';
import { defineCommand, port } from './command.ts';

export const gatewayCommand = defineCommand(
  {
    name: 'gateway',
    does: 'run one rendered configuration, as gateway pods do',
    example: 'vmcp gateway --config gateway.json --host 127.0.0.1',
    logs: true,
    network: true,
  },
  (command) =>
    command
      .requiredOption('--config <file>', 'gateway configuration as JSON')
      .option('--host <address>', 'address of the MCP endpoint; with 0.0.0.0 other machines can connect', '0.0.0.0')
      .option('--port <port>', 'port of the MCP endpoint', port, 4483)
      .option('--management-host <address>', 'address of /metrics and /status', '127.0.0.1')
      .option('--management-port <port>', 'port of /metrics and /status', port, 8080)
      .option('--state <dir>', 'folder for packages of npx:// and uvx:// backends')
      .action(async (flags: GatewayOptions) => {
        const { gateway } = await import('../gateway/gateway.ts');
        process.exitCode = await gateway(flags);
      }),
);
