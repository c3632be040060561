import type { GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import type { Logger } from '../../../gateway/contract/logger.ts';
import type { Launcher } from '../../../gateway/workloads/runner/runner.ts';
import { PROJECT_ROOT } from '../version.ts';

/** Creates a launcher and its state folder if a backend of the configuration is a process. */
export async function createLauncherFor(
  config: GatewayConfig,
  state: string | undefined,
  log: Logger,
): Promise<Launcher | undefined> {
  if (!config.vmcp.backends.some(({ process: child }) => child !== undefined)) return undefined;
  const { createLauncher } = await import('../../../gateway/workloads/runner/launcher.ts');
  const { reapOrphans } = await import('../../../gateway/workloads/runner/process/reaper.ts');
  const { defaultStateDir } = await import('../../local/state.ts');
  const stateDir = state ?? defaultStateDir(process.env);
  await reapOrphans({ stateDir, hostEnv: process.env });
  return createLauncher({ stateDir, projectRoot: PROJECT_ROOT, hostEnv: process.env, log });
}
