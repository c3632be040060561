import { type Command, InvalidArgumentError, Option } from 'commander';
import { httpUrl, stateOption, defineCommand, outputOption } from './command.ts';
import type { StatusFlags } from '../status/status.ts';
import type { ToolsFlags } from '../tools/tools.ts';
import { durationMs, timerFault } from '../../../gateway/contract/fields.ts';
import type { CallFlags } from '../tools/call.ts';
import type { ConnectFlags } from '../connect.ts';

/** Adds the options of commands that open an MCP session. */
const sessionOptions = (command: Command): Command =>
  command
    .option('--url <url>', 'MCP URL (default: that of vmcp up)', httpUrl)
    .option('--name <name>', 'VirtualMCPServer of vmcp up, when there are several')
    .option('--token <token>', 'bearer token instead of a login (default: $VMCP_TOKEN)')
    .option('--client-id <id>', 'client of the login, where the authorization server registers none by itself')
    .addOption(stateOption());

export const statusCommand = defineCommand(
  {
    name: 'status',
    does: 'print the state, tools and calls of each server of a running gateway',
    example: 'vmcp status --watch',
    network: true,
  },
  (command) =>
    command
      .option('-w, --watch', 'print changes until Ctrl-C')
      .option('--management <url>', 'management URL of the gateway (default: that of vmcp up)', httpUrl)
      .addOption(stateOption())
      .addOption(outputOption())
      .action(async (flags: StatusFlags) => {
        const { status } = await import('../status/status.ts');
        process.exitCode = await status(flags);
      }),
);

export const toolsCommand = defineCommand(
  {
    name: 'tools',
    does: 'list the tools of a running gateway',
    example: 'vmcp tools everything --output json',
    network: true,
  },
  (command) =>
    sessionOptions(command.argument('[server]', 'list the tools of this server only'))
      .option('--check', 'check the tools against the rules of OpenAI, Anthropic and Gemini instead')
      .addOption(outputOption())
      .action(async (server: string | undefined, flags: ToolsFlags) => {
        const { tools } = await import('../tools/tools.ts');
        process.exitCode = await tools(server, flags);
      }),
);

type Flags = CallFlags & { readonly timeout: number };

const collect = (text: string, earlier: readonly string[] = []): string[] => [...earlier, text];

/** @throws InvalidArgumentError for anything but a duration that fits a timer */
function timeout(text: string): number {
  try {
    const fault = timerFault(text);
    if (fault === undefined) return durationMs(text);
    throw new InvalidArgumentError(`${fault}.`);
  } catch (error) {
    if (error instanceof RangeError) throw new InvalidArgumentError('must be a duration such as 30s or 1m30s.');
    throw error;
  }
}

export const callCommand = defineCommand(
  {
    name: 'call',
    does: 'call a tool of a running gateway and print its result',
    example: 'vmcp call everything_get-sum --arg a=2 --arg b=3',
    network: true,
  },
  (command) =>
    sessionOptions(
      command
        .argument('<tool>', 'name of the tool, as vmcp tools prints it')
        .argument('[args...]', 'NAME=VALUE, as --arg')
        .option('--arg <name=value>', 'an argument; the tool says its type; can be repeated', collect)
        .option('--json <object>', 'arguments as JSON, @FILE, or - for standard input')
        .addOption(
          new Option('--timeout <duration>', 'longest wait for the result').argParser(timeout).default(60_000, '60s'),
        ),
    )
      .addOption(outputOption())
      .action(async (tool: string, pairs: string[], { timeout: timeoutMs, ...flags }: Flags) => {
        const { call } = await import('../tools/call.ts');
        process.exitCode = await call(tool, { ...flags, arg: [...pairs, ...(flags.arg ?? [])], timeoutMs });
      }),
);

export const connectCommand = defineCommand(
  {
    name: 'connect',
    does: 'add a running virtual server to the configuration of an MCP client',
    example: 'vmcp connect claude-code',
  },
  (command) =>
    command
      .argument('[client]', 'client, such as cursor; without one, list all clients')
      .option('--url <url>', 'MCP URL (default: that of the running vmcp up)')
      .option('--name <name>', 'virtual server if several run, else name of the entry')
      .option('--print', 'print the entry and change nothing')
      .option('--remove', 'remove the entry')
      .option('--force', 'replace or remove an entry that points elsewhere')
      .option('--state <dir>', 'state folder of vmcp up (default: $XDG_STATE_HOME/vmcp)')
      .addOption(outputOption())
      .action(async (client: string | undefined, flags: ConnectFlags) => {
        const { connect } = await import('../connect.ts');
        process.exitCode = connect(client, flags, process);
      }),
);
