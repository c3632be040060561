import { InvalidArgumentError, Option, type Command } from 'commander';
import type { LogFlags, OriginFlags } from '../flags.ts';
import { defineCommand, PATHS, port, secretsDirOption } from './command.ts';
import type { ServeFlags } from '../serve.ts';
import type { GatewayOptions } from '../gateway.ts';

interface UpFlags extends LogFlags, OriginFlags {
  readonly host: string;
  readonly port: number;
  readonly managementPort: number;
  readonly state?: string;
  readonly secretsDir?: string;
  readonly strict?: boolean;
  readonly watch?: boolean;
}

/** Returns true when the user set the option: a default port can change, an explicit port cannot. */
const isExplicit = (command: Command, name: string): boolean => command.getOptionValueSource(name) === 'cli';

/** A container image sets the variable: on 127.0.0.1 nothing outside the container could connect. */
const hostOption = (): Option =>
  new Option('--host <address>', 'address of the MCP endpoints').default('127.0.0.1').env('VMCP_HOST');

/** Adds the options of `OriginFlags`. */
const withOriginOptions = (command: Command): Command =>
  command
    .option('--allow-origin <url>', 'let pages of this origin call the MCP endpoints; can be repeated', origins)
    .option('--allow-api-origin <url>', 'the same for the management API; can be repeated', origins);

/** Adds an origin, as browsers send it, to the others. @throws InvalidArgumentError for anything else */
function origins(text: string, others: readonly string[] | undefined): readonly string[] {
  const { protocol, origin, href } = URL.parse(text) ?? {};
  if (origin === undefined || !/^https?:$/u.test(protocol ?? '') || href !== `${origin}/`) {
    throw new InvalidArgumentError('must be an origin, such as http://localhost:6274.');
  }
  return [...(others ?? []), origin];
}

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
    ).action(async (paths: string[], flags: UpFlags, command: Command) => {
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
      const { serve } = await import('../serve.ts');
      process.exitCode = await serve(flags);
    }),
);

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
        const { gateway } = await import('../gateway.ts');
        process.exitCode = await gateway(flags);
      }),
);

interface Flags extends LogFlags {
  readonly namespace?: string;
  readonly leaderElect: string;
  readonly metricsPort: number;
}

export const operatorCommand = defineCommand(
  {
    name: 'operator',
    does: 'reconcile the resources of a cluster, as the operator pod does',
    example: 'vmcp operator --namespace team-a,team-b',
    logs: true,
    network: true,
  },
  (command) =>
    command
      .option('--namespace <names>', '"all", or namespaces separated by commas (default: $WATCH_NAMESPACE, else all)')
      .addOption(
        new Option('--leader-elect [on]', 'elect one of several operators to be active')
          .choices(['true', 'false'])
          .default('true')
          .preset('true'),
      )
      .option('--metrics-port <port>', 'port of /metrics, /healthz and /readyz', port, 8081)
      .action(async (flags: Flags) => {
        const { operator } = await import('../operator/operator.ts');
        process.exitCode = await operator({ ...flags, leaderElect: flags.leaderElect === 'true' });
      }),
);
