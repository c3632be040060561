import type { Command } from 'commander';
import { httpUrl, stateOption } from './command.ts';

/** Adds the options of commands that open an MCP session. */
export const sessionOptions = (command: Command): Command =>
  command
    .option('--url <url>', 'MCP URL (default: that of vmcp up)', httpUrl)
    .option('--name <name>', 'VirtualMCPServer of vmcp up, when there are several')
    .option('--token <token>', 'bearer token instead of a login (default: $VMCP_TOKEN)')
    .option('--client-id <id>', 'client of the login, where the authorization server registers none by itself')
    .addOption(stateOption());
