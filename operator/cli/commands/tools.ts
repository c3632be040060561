import type { ToolsFlags } from '../tools/tools.ts';
import { defineCommand, outputOption } from './command.ts';
import { sessionOptions } from './session-options.ts';

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
