import { Option } from 'commander';
import type { LogFlags } from '../log-flags.ts';
import { defineCommand, port } from './command.ts';

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
