import { enableCompileCache } from 'node:module';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { LOG_FORMATS, LOG_LEVELS } from '../../gateway/contract/logger.ts';
import type { LogFlags } from './log-flags.ts';
import { VERSION } from './version.ts';

enableCompileCache();

const EXIT_USAGE = 2;

function port(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > 65_535)
    throw new InvalidArgumentError('must be a number from 0 to 65535.');
  return value;
}

const NOT_BUILT = [['serve', 'the management API alone']] as const;

/** Returns true when the user set the option: a default port can change, an explicit one cannot. */
const isExplicit = (command: Command, name: string): boolean => command.getOptionValueSource(name) === 'cli';

interface UpFlags extends LogFlags {
  readonly host: string;
  readonly port: number;
  readonly managementPort: number;
  readonly state?: string;
  readonly secretsDir?: string;
  readonly watch?: boolean;
}

interface GatewayFlags extends LogFlags {
  readonly config: string;
  readonly host: string;
  readonly port: number;
  readonly managementHost: string;
  readonly managementPort: number;
  readonly state?: string;
}

const io = { stdout: process.stdout, stderr: process.stderr };

function createProgram(): Command {
  const program = new Command('vmcp')
    .description('One endpoint over many MCP servers.')
    .version(VERSION)
    .addHelpText('after', example('vmcp up examples/quickstart'))
    .showHelpAfterError('Run "vmcp --help" for the commands and options.')
    .exitOverride();
  for (const add of [addUp, addValidate, addRender, addGateway, addOperator, addVersion, addNotBuilt]) add(program);
  for (const command of program.commands) addLogFlags(command);
  return program;
}

const example = (commandLine: string): string => `\nExample:\n  ${commandLine}`;

const outputOption = (): Option => new Option('-o, --output <format>', 'print one JSON document').choices(['json']);

/** Commands that write a log. The others accept its options without listing them. */
const LOGGING = ['up', 'gateway', 'operator'];

function addLogFlags(command: Command): void {
  const isHidden = !LOGGING.includes(command.name());
  const format = new Option('--log-format <format>', 'lines of the log (default: text on a terminal, else json)');
  const level = new Option(
    '--log-level <level>',
    'lowest level of the log (default: that of the resources, else info)',
  );
  command
    .addOption(format.choices(LOG_FORMATS).hideHelp(isHidden))
    .addOption(level.choices(LOG_LEVELS).hideHelp(isHidden));
}

function addUp(program: Command): void {
  program
    .command('up')
    .description('run every VirtualMCPServer in these files or folders on this machine, without a cluster')
    .addHelpText('after', example('vmcp up examples/quickstart --watch'))
    .argument('<paths...>', 'YAML or JSON files, folders of them, or - for standard input')
    .option('--host <address>', 'address of the MCP endpoints', '127.0.0.1')
    .option('--port <port>', 'port of the first MCP endpoint', port, 4483)
    .option('--management-port <port>', 'port of /metrics, /status and the management API', port, 8080)
    .option('--state <dir>', 'folder for ports, packages and secrets (default: $XDG_STATE_HOME/vmcp)')
    .option('--secrets-dir <dir>', 'folder of Secrets: DIR/<secret>/<key>')
    .option('--watch', 'apply changes of the files while running')
    .action(async (paths: string[], flags: UpFlags, command: Command) => {
      const { up } = await import('./up/up.ts');
      process.exitCode = await up(paths, {
        ...flags,
        watch: flags.watch ?? false,
        portIsExplicit: isExplicit(command, 'port'),
        managementPortIsExplicit: isExplicit(command, 'managementPort'),
      });
    });
}

function addValidate(program: Command): void {
  program
    .command('validate')
    .description('print every problem as file:line: Kind/name: path: message [Reason]')
    .addHelpText('after', example('vmcp validate manifests/ --output json'))
    .argument('<paths...>', 'YAML or JSON files, folders of them, or - for standard input')
    .option('--secrets-dir <dir>', 'folder of Secrets: DIR/<secret>/<key>')
    .addOption(outputOption())
    .action(async (paths: string[], flags: { secretsDir?: string; output?: 'json' }) => {
      const { validate } = await import('./validate/validate.ts');
      process.exitCode = await validate(paths, flags, io);
    });
}

function addVersion(program: Command): void {
  program
    .command('version')
    .description('print the version of vmcp, of Node.js and of the platform')
    .addHelpText('after', example('vmcp version --output json'))
    .addOption(outputOption())
    .action((flags: { output?: 'json' }) => {
      const facts = { version: VERSION, node: process.versions.node, platform: `${process.platform}/${process.arch}` };
      const text = `vmcp ${facts.version} (Node.js ${facts.node}, ${facts.platform})`;
      process.stdout.write(`${flags.output === 'json' ? JSON.stringify(facts) : text}\n`);
    });
}

function addRender(program: Command): void {
  program
    .command('render')
    .description('print the configuration of a VirtualMCPServer, without secret values')
    .addHelpText('after', example('vmcp render manifests/ --name tools'))
    .argument('<paths...>', 'YAML or JSON files, folders of them, or - for standard input')
    .option('--name <name>', 'VirtualMCPServer to render, when there are several')
    .option('--secrets-dir <dir>', 'folder of Secrets: DIR/<secret>/<key>')
    .action(async (paths: string[], flags: { name?: string; secretsDir?: string }) => {
      const { render } = await import('./validate/render.ts');
      process.exitCode = await render(paths, flags, io);
    });
}

function addGateway(program: Command): void {
  program
    .command('gateway')
    .description('run one rendered configuration, as gateway pods do')
    .addHelpText('after', example('vmcp gateway --config gateway.json --host 127.0.0.1'))
    .requiredOption('--config <file>', 'gateway configuration as JSON')
    .option('--host <address>', 'address of the MCP endpoint; with 0.0.0.0 other machines can connect', '0.0.0.0')
    .option('--port <port>', 'port of the MCP endpoint', port, 4483)
    .option('--management-host <address>', 'address of /metrics and /status', '127.0.0.1')
    .option('--management-port <port>', 'port of /metrics and /status', port, 8080)
    .addOption(new Option('--state <dir>', 'folder for packages of npx:// and uvx:// backends'))
    .action(async (flags: GatewayFlags) => {
      const { gateway } = await import('./gateway/gateway.ts');
      process.exitCode = await gateway(flags);
    });
}

function addOperator(program: Command): void {
  program
    .command('operator')
    .description('reconcile the resources of a cluster, as the operator pod does')
    .addHelpText('after', example('vmcp operator --namespace team-a,team-b'))
    .option('--namespace <names>', '"all", or namespaces separated by commas (default: $WATCH_NAMESPACE, else all)')
    .addOption(
      new Option('--leader-elect [on]', 'elect one of several operators to be active')
        .choices(['true', 'false'])
        .default('true')
        .preset('true'),
    )
    .option('--metrics-port <port>', 'port of /metrics, /healthz and /readyz', port, 8081)
    .action(async (flags: LogFlags & { namespace?: string; leaderElect: string; metricsPort: number }) => {
      const { operator } = await import('./operator/operator.ts');
      process.exitCode = await operator({ ...flags, leaderElect: flags.leaderElect === 'true' });
    });
}

/** Adds commands of a later version, so that using one does not look like a typing mistake. */
function addNotBuilt(program: Command): void {
  for (const [name, does] of NOT_BUILT) {
    program
      .command(name)
      .description(`${does} (not built yet)`)
      .allowUnknownOption()
      .allowExcessArguments()
      .action(() => {
        process.stderr.write(`vmcp ${name} is not built yet: use vmcp up to run the same resources on this machine\n`);
        process.exitCode = EXIT_USAGE;
      });
  }
}

try {
  await createProgram().parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : EXIT_USAGE;
}
