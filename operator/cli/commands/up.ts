import { Option, type Command } from 'commander';
import type { LogFlags } from '../log-flags.ts';
import { withOriginOptions, type OriginFlags } from '../origin-flags.ts';
import { defineCommand, PATHS, port, secretsDirOption } from './command.ts';

interface Flags extends LogFlags, OriginFlags {
  readonly host: string;
  readonly port: number;
  readonly managementPort: number;
  readonly state?: string;
  readonly secretsDir?: string;
  readonly strict?: boolean;
  readonly watch?: boolean;
}

/** Returns true when the user set the option: a default port can change, an explicit one cannot. */
const isExplicit = (command: Command, name: string): boolean => command.getOptionValueSource(name) === 'cli';

/** A container image sets the variable: on 127.0.0.1 nothing outside the container could connect. */
const hostOption = (): Option =>
  new Option('--host <address>', 'address of the MCP endpoints').default('127.0.0.1').env('VMCP_HOST');

export const upCommand = defineCommand(
  {
    name: 'up',
    does: 'run every VirtualMCPServer in these files or folders on this machine, without a cluster',
    example: 'vmcp up examples/quickstart --watch',
    logs: true,
    network: true,
  },
  (command) =>
    withOriginOptions(
      command
        .argument(...PATHS)
        .addOption(hostOption())
        .option('--port <port>', 'port of the first MCP endpoint', port, 4483)
        .option('--management-port <port>', 'port of /metrics, /status and the management API', port, 8080)
        .option('--state <dir>', 'folder for ports, packages and secrets (default: $XDG_STATE_HOME/vmcp)')
        .addOption(secretsDirOption())
        .option('--strict', 'start nothing if there is any problem')
        .option('--watch', 'apply changes of the files while running'),
    ).action(async (paths: string[], flags: Flags, command: Command) => {
      const { up } = await import('../up/up.ts');
      process.exitCode = await up(paths, {
        ...flags,
        strict: flags.strict ?? false,
        watch: flags.watch ?? false,
        portIsExplicit: isExplicit(command, 'port'),
        managementPortIsExplicit: isExplicit(command, 'managementPort'),
      });
    }),
);
