import type { Command } from 'commander';
import { bashScript } from './bash.ts';
import { completedCommands } from './completed-command.ts';
import { fishScript } from './fish.ts';
import { zshScript } from './zsh.ts';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

/** Renders the script of a shell for these commands. */
export const completionScript = (shell: keyof typeof SCRIPTS, commands: readonly Command[]): string =>
  SCRIPTS[shell](completedCommands(commands));
