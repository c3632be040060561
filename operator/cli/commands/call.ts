import { InvalidArgumentError, Option } from 'commander';
import { durationMs, timerFault } from '../../../gateway/contract/fields.ts';
import type { CallFlags } from '../tools/call.ts';
import { defineCommand, outputOption } from './command.ts';
import { sessionOptions } from './session-options.ts';

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
