import { Argument, type Command } from 'commander';
import { defineCommand } from './command.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

export const completionCommand = defineCommand(
  {
    name: 'completion',
    does: 'print a script that completes commands and options in your shell',
    example: 'vmcp completion bash > ~/.local/share/bash-completion/completions/vmcp',
  },
  (command) =>
    command
      .addArgument(new Argument('<shell>', 'your shell').choices(SHELLS))
      .action(async (shell: (typeof SHELLS)[number], _flags: object, self: Command) => {
        const { completionScript } = await import('../completion/completion-script.ts');
        process.stdout.write(completionScript(shell, self.parent?.commands ?? []));
      }),
);
